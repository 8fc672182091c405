/**
 * Signed upload URLs. A URL allows one upload with the given key, type and size limit until it expires. Changing
 * any of these breaks the signature.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'

export interface UploadGrant {
  readonly key: string
  readonly contentType: string
  readonly bytesMax: number
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

export type Verified = { readonly grant: UploadGrant } | { readonly refusal: 'altered' | 'expired' }

const Query = z.object({
  type: z.string().max(200),
  max: z.string().regex(/^\d{1,12}$/),
  expires: z.string().regex(/^\d{1,15}$/),
  signature: z.string().regex(/^[\w-]{43}$/),
})

export class UploadSigner {
  readonly #secret: string
  readonly #now: () => number

  constructor({ secret, now }: { readonly secret: string; readonly now: () => number }) {
    this.#secret = secret
    this.#now = now
  }

  /** The query string of the upload URL. */
  sign(grant: UploadGrant): string {
    const { contentType, bytesMax, expiresAt } = grant
    const query = new URLSearchParams({
      type: contentType,
      max: String(bytesMax),
      expires: String(expiresAt),
      signature: this.#signature(grant).toString('base64url'),
    })
    return query.toString()
  }

  verify(key: string, query: Readonly<Record<string, string>>): Verified {
    const read = Query.safeParse(query)
    if (!read.success) return { refusal: 'altered' }
    const { type, max, expires, signature } = read.data
    const grant = {
      key,
      contentType: type,
      bytesMax: Number(max),
      expiresAt: Number(expires),
    }
    const given = Buffer.from(signature, 'base64url')
    const expected = this.#signature(grant)
    if (given.byteLength !== expected.byteLength) return { refusal: 'altered' }
    if (!timingSafeEqual(given, expected)) return { refusal: 'altered' }
    return grant.expiresAt > this.#now() ? { grant } : { refusal: 'expired' }
  }

  /** No part contains a line break, so two different grants never have the same text. */
  #signature({ key, contentType, bytesMax, expiresAt }: UploadGrant): Buffer {
    const text = ['PUT', key, contentType, bytesMax, expiresAt].map((part) =>
      encodeURIComponent(part),
    )
    return createHmac('sha256', this.#secret).update(text.join('\n')).digest()
  }
}
