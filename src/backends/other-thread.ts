/** How a thread beside the event loop reaches the store, to keep leases while a handler blocks the loop. */
import type { Extend, LeaseResult, LeaseStates } from './stored-message.ts'

/**
 * A module whose `openRenewer(options)` returns a `LeaseRenewer`. It is loaded in its own thread, so that
 * leases are renewed while a handler blocks the event loop.
 */
export interface OtherThread {
  /** As `import()` takes it. */
  readonly module: string
  /** What the module needs; it is copied to the thread. */
  readonly options: Readonly<Record<string, string | number>>
}

export interface LeaseRenewer {
  /** Connects before there is something to do, where that takes long. */
  open(): Promise<void>
  /** Extends leases and waits for the store as long as that takes; never rejects for a lost lease. */
  extend(request: Extend): Promise<readonly LeaseResult[]>
  /** Releases leases whose handlers have not started; a lost lease is skipped. */
  release(request: LeaseStates): Promise<void>
  close(): Promise<void>
}
