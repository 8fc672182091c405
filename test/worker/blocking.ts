/** What the blocking worker is told, and what it tells. */
import type { ChildMessage } from '../support/child-program.ts'

/** Where the store is: a folder, or a Postgres database. */
export type Blocking = { readonly data: string } | { readonly url: string }

export interface Blocked extends ChildMessage {
  readonly kind: 'blocked'
  /** Whether the handler had been told that its lease was lost. */
  readonly isAborted: boolean
}

export const blockingFile: URL = new URL('blocking.child.ts', import.meta.url)

/** Stops this thread, and so its event loop. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
