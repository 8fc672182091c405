/**
 * Where files arrive that are not in S3, by addresses that we signed; and where S3's notifications arrive when
 * they are. Either way an object that has come to exist becomes a job.
 */
import { timingSafeEqual } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { z } from 'zod'
import { ObjectExists, TooLarge } from '../objects/file-object-store.ts'
import { isObjectKey } from '../objects/object-key.ts'
import { objectCreated } from '../runtime/object-created.ts'
import { type ApiEnv, type ApiSetup, missing, refusal } from './create-api.ts'
import { tooLarge } from './upload-routes.ts'

const Key = z.string().max(3_000)

/** As S3 writes it to a topic or a queue: several objects, their keys encoded like a form. */
const Records = z
  .object({
    Records: z.array(
      z.object({ eventName: z.string(), s3: z.object({ object: z.object({ key: Key }) }) }),
    ),
  })
  .transform((notification) =>
    notification.Records.filter(({ eventName }) => /^(?:s3:)?ObjectCreated:/.test(eventName)).map(
      ({ s3 }) => decoded(s3.object.key),
    ),
  )

/** As EventBridge passes it on: one object, its key as it is. */
const BridgedEvent = z
  .object({ 'detail-type': z.string(), detail: z.object({ object: z.object({ key: Key }) }) })
  .transform(({ 'detail-type': type, detail }) =>
    type === 'Object Created' ? [detail.object.key] : [],
  )

/** Which objects have come to exist. */
const Notification = z.union([Records, BridgedEvent])
const notificationBytesMax = 256 * 1_024

export function objectRoutes(app: Hono<ApiEnv>, setup: ApiSetup): void {
  putRoute(app, setup)
  app.post('/events/object-created', bodyLimit({ maxSize: notificationBytesMax }), async (c) => {
    const { EVENTS_SECRET } = setup.environment
    if (EVENTS_SECRET === undefined) return missing(c)
    const given = c.req.header('authorization') ?? ''
    if (!isSame(given, `Bearer ${EVENTS_SECRET}`)) {
      return refusal(c, 401, 'The secret of notifications is needed.')
    }
    const notification = Notification.safeParse(await c.req.json().catch(() => undefined))
    if (!notification.success) return refusal(c, 400, 'This is no notification of S3.')
    let documents = 0
    for (const key of notification.data) {
      if (key !== undefined && (await objectCreated(setup, key))) documents += 1
    }
    return c.json({ documents }, 202)
  })
}

function putRoute(app: Hono<ApiEnv>, setup: ApiSetup): void {
  const { uploadFolder, signer, log } = setup
  app.put('/objects/*', async (c) => {
    if (uploadFolder === undefined) return missing(c)
    const key = c.req.path.slice('/objects/'.length)
    if (!isObjectKey(key)) return refusal(c, 403, 'The address is not one that we signed.')
    const verified = signer.verify(key, c.req.query())
    if ('refusal' in verified) {
      const isLate = verified.refusal === 'expired'
      return refusal(
        c,
        403,
        isLate ? 'The address has expired.' : 'The address is not one that we signed.',
      )
    }
    const { contentType, bytesMax } = verified.grant
    if (c.req.header('content-type') !== contentType) {
      return refusal(c, 415, `The content type must be ${contentType}.`)
    }
    if (Number(c.req.header('content-length') ?? 0) > bytesMax) return cutOff(tooLarge(bytesMax))
    try {
      await uploadFolder.receive(key, bodyOf(c.req.raw), bytesMax)
    } catch (error) {
      if (error instanceof TooLarge) return cutOff(tooLarge(bytesMax))
      if (error instanceof ObjectExists) return refusal(c, 409, 'The file is here already.')
      if (!c.req.raw.signal.aborted) throw error
      // Who has gone is no failure of ours, and may come again.
      log.info({ key }, 'upload broken off')
      return refusal(c, 400, 'The upload was broken off.')
    }
    await objectCreated(setup, key)
    return c.body(null, 200)
  })
}

/** The rest of the upload is not wanted, so the connection is of no use any more. */
function cutOff(error: string): Response {
  return Response.json({ error }, { status: 413, headers: { connection: 'close' } })
}

function bodyOf({ body }: Request): Readable {
  // The types of Node and of the web name the same stream.
  return body === null ? Readable.from([]) : Readable.fromWeb(body as ReadableStream)
}

function decoded(key: string): string | undefined {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.byteLength === b.byteLength && timingSafeEqual(a, b)
}
