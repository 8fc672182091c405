/** Who asks, and what each role may do. */
import type { Job } from '../../jobs/job.ts'

/**
 * `admin`: everything. `internal`: enqueues for anybody. `operator`: works in inboxes and watches
 * alarms, and is otherwise a user. `user`: has jobs of its own. `metrics`: scrapes metrics, and
 * nothing else.
 */
export type Role = 'admin' | 'internal' | 'operator' | 'user' | 'metrics'

export const roles: readonly Role[] = ['admin', 'internal', 'operator', 'user', 'metrics']

export interface Caller {
  readonly role: Role
  /** For the log: the name of a key, or the kind of credentials. Never whose they are. */
  readonly name: string
  /** For the record of what was done: the name of a key, or the subject of a token. */
  readonly signature: string
  /** What limits count by. */
  readonly identity: string
  /** Whose jobs are the caller's own; null when it owns none. */
  readonly owner: string | null
  /** When the credentials end, in milliseconds since the epoch; null when they do not. */
  readonly expiresAt: number | null
}

export function isRole(value: unknown): value is Role {
  return roles.some((role) => role === value)
}

/** Whether the inside of the system is the caller's business. */
export function isTrusted({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin' || role === 'internal'
}

/** Inboxes show whole messages, and what is done there is done for good. */
export function mayUseInboxes({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin' || role === 'operator'
}

/** Who runs the system looks at its state, and tests what is to wake them. */
export function mayWatch({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin' || role === 'operator'
}

export function mayScrape({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin' || role === 'metrics'
}

/** The owner of a job sees it, and so do admins. To everybody else it does not exist. */
export function maySee({ role, owner }: Caller, job: Pick<Job, 'owner'>): boolean {
  return role === 'admin' || (owner !== null && job.owner === owner)
}
