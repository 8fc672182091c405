/** The caller of a request: a user with a role. */
import { z } from 'zod'
import { Tokens } from '../shared/tokens.ts'

const Role = z.enum(['user', 'internal', 'admin'])
const Caller = z.object({ userId: z.string().min(1), role: Role })

export type Role = z.infer<typeof Role>
export type Caller = z.infer<typeof Caller>

export function isRole(text: string): text is Role {
  return Role.safeParse(text).success
}

export class Identity extends Tokens<Caller> {
  constructor(secret: string) {
    super(secret, Caller)
  }
}
