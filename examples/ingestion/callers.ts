/** The caller of a request: a member of an organisation. */
import { z } from 'zod'
import { Tokens } from '../shared/tokens.ts'

const Caller = z.object({
  userId: z.string().min(1),
  organizationId: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
})
export type Caller = z.infer<typeof Caller>

export class Callers extends Tokens<Caller> {
  constructor(secret: string) {
    super(secret, Caller)
  }
}
