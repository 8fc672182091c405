/** Who calls: tokens that this system signs for the members of an organisation. */
import { jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'

export interface Caller {
  readonly userId: string
  readonly organizationId: string
}

const Claims = z.object({
  sub: z.string().min(1),
  org: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
})
const algorithm = 'HS256'

export class Callers {
  readonly #key: Uint8Array

  constructor(secret: string) {
    this.#key = new TextEncoder().encode(secret)
  }

  tokenFor({ userId, organizationId }: Caller): Promise<string> {
    const token = new SignJWT({ org: organizationId, sub: userId })
    return token.setProtectedHeader({ alg: algorithm }).setExpirationTime('1h').sign(this.#key)
  }

  /** Undefined when the header names nobody. */
  async callerOf(authorization: string | undefined): Promise<Caller | undefined> {
    const token = authorization?.match(/^Bearer (\S+)$/)?.[1]
    if (token === undefined) return undefined
    try {
      const rules = { algorithms: [algorithm], requiredClaims: ['exp'] }
      const { payload } = await jwtVerify(token, this.#key, rules)
      const { sub, org } = Claims.parse(payload)
      return { userId: sub, organizationId: org }
    } catch {
      return undefined
    }
  }
}
