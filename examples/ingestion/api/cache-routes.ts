/** Serves page images from the cache to members of their organisation. */
import type { Hono } from 'hono'
import { isObjectKey } from '../objects/object-key.ts'
import { ObjectMissing } from '../objects/object-store.ts'
import { type ApiEnv, type ApiSetup, missing } from './create-api.ts'

const prefix = '/api/cache/'

export function cacheRoutes(app: Hono<ApiEnv>, { cache }: Pick<ApiSetup, 'cache'>): void {
  app.get(`${prefix}*`, async (c) => {
    const key = c.req.path.slice(prefix.length)
    const { organizationId } = c.get('caller')
    const isOwn = isObjectKey(key) && key.startsWith(`${organizationId}/`)
    if (!isOwn || !key.endsWith('.png')) return missing(c)
    try {
      const image = new Uint8Array(await cache.get(key))
      return c.body(image, 200, {
        'content-type': 'image/png',
        // Page images never change.
        'cache-control': 'private, max-age=86400, immutable',
        'x-content-type-options': 'nosniff',
      })
    } catch (error) {
      if (error instanceof ObjectMissing) return missing(c)
      throw error
    }
  })
}
