/** Who calls: tokens that this system signs, with the user as subject and a role. */
import { jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'

const Role = z.enum(['user', 'internal', 'admin'])
const Claims = z.object({ sub: z.string().min(1), role: Role })

export type Role = z.infer<typeof Role>

export interface Caller {
  readonly userId: string
  readonly role: Role
}

export function isRole(text: string): text is Role {
  return Role.safeParse(text).success
}

export class Identity {
  readonly #key: Uint8Array

  constructor(secret: string) {
    this.#key = new TextEncoder().encode(secret)
  }

  issue({ userId, role }: Caller): Promise<string> {
    return new SignJWT({ role })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(userId)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(this.#key)
  }

  /** Undefined when the token is not valid, or not any more. */
  async verify(token: string): Promise<Caller | undefined> {
    const options = { algorithms: ['HS256'], requiredClaims: ['exp'] }
    const verified = await jwtVerify(token, this.#key, options).catch(() => undefined)
    const claims = Claims.safeParse(verified?.payload)
    return claims.success ? { userId: claims.data.sub, role: claims.data.role } : undefined
  }
}
