/** JSON Web Tokens that identify callers, signed with the system's own secret and valid for an hour. */
import { type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { z } from 'zod'

const algorithm = 'HS256'

export class Tokens<Caller extends { readonly userId: string }> {
  readonly #key: Uint8Array
  readonly #schema: z.ZodType<Caller>

  /** The user id is the subject of the token. Every other field of the caller is a claim. */
  constructor(secret: string, schema: z.ZodType<Caller>) {
    this.#key = new TextEncoder().encode(secret)
    this.#schema = schema
  }

  issue({ userId, ...claims }: Caller): Promise<string> {
    const token = new SignJWT(claims as JWTPayload).setSubject(userId).setIssuedAt()
    return token.setProtectedHeader({ alg: algorithm }).setExpirationTime('1h').sign(this.#key)
  }

  /** The caller of an `Authorization` header; undefined if the token is invalid or expired. */
  async callerOf(authorization: string | undefined): Promise<Caller | undefined> {
    const [, token] = /^Bearer (\S+)$/.exec(authorization ?? '') ?? []
    return token === undefined ? undefined : this.verify(token)
  }

  async verify(token: string): Promise<Caller | undefined> {
    const rules = { algorithms: [algorithm], requiredClaims: ['exp'] }
    const verified = await jwtVerify(token, this.#key, rules).catch(() => undefined)
    return this.#schema.safeParse({ ...verified?.payload, userId: verified?.payload.sub }).data
  }
}
