/** The authenticated caller, and the rights of each role. */
import type { Job } from '../../jobs/job.ts'

/**
 * `admin`: all rights. `internal`: enqueues jobs for any owner. `operator`: a user who also works in inboxes
 * and watches alarms. `user`: enqueues and sees own jobs. `worker`: only reports on jobs that it has received.
 * `metrics`: only scrapes metrics.
 */
export type Role = 'admin' | 'internal' | 'operator' | 'user' | 'worker' | 'metrics'

export const roles: readonly Role[] = ['admin', 'internal', 'operator', 'user', 'worker', 'metrics']

export interface Caller {
  readonly role: Role
  /** For the log: the name of a key, or the kind of credentials. Never the subject of a token. */
  readonly name: string
  /** For histories: the name of a key, or the subject of a token. */
  readonly signature: string
  /** The key for rate limits. */
  readonly identity: string
  /** The owner of the caller's jobs; null if the caller cannot own jobs. */
  readonly owner: string | null
  /** When the credentials expire, in milliseconds since the epoch; null if never. */
  readonly expiresAt: number | null
}

export function isRole(value: unknown): value is Role {
  return roles.some((role) => role === value)
}

/** For what concerns the whole system. */
export function isAdmin({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin'
}

/** Whether the caller may see internals such as queues and errors. */
export function isTrusted({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin' || role === 'internal'
}

/** Limited, because inboxes show whole messages, and actions there cannot be undone. */
export function mayUseInboxes({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin' || role === 'operator'
}

/** Operators watch the system and test its alarms. */
export function mayWatch({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin' || role === 'operator'
}

/** A receipt proves little: it is made of numbers that can be guessed. So users may not report. */
export function mayReport({ role }: Pick<Caller, 'role'>): boolean {
  return isTrusted({ role }) || role === 'worker'
}

/** Roles for one purpose. A route must explicitly admit them. */
export function hasOnePurpose({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'metrics' || role === 'worker'
}

export function mayScrape({ role }: Pick<Caller, 'role'>): boolean {
  return role === 'admin' || role === 'metrics'
}

/** The owner and admins see a job. For all other callers it does not exist. */
export function maySee({ role, owner }: Caller, job: Pick<Job, 'owner'>): boolean {
  return role === 'admin' || (owner !== null && job.owner === owner)
}
