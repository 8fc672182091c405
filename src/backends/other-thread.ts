/** How a thread beside the event loop reaches the store, to keep leases while a handler blocks the loop. */
import type { Extend, LeaseResult, LeaseStates } from './stored-message.ts'

/**
 * A module whose `openRenewer(options)` answers a `LeaseRenewer`. It is loaded in a thread of its own,
 * so that leases are kept while a handler blocks the event loop.
 */
export interface OtherThread {
  /** As `import()` takes it. */
  readonly module: string
  /** Whatever the module needs; it must survive being copied to the thread. */
  readonly options: Readonly<Record<string, string | number>>
}

export interface LeaseRenewer {
  /** Extends leases and waits for the store as long as that takes; never throws for a lost lease. */
  extend(request: Extend): readonly LeaseResult[]
  /** Releases leases whose handlers have not started; a lost lease is skipped. */
  release(request: LeaseStates): void
  close(): void
}
