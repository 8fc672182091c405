import type { ChildMessage } from '../support/child-program.ts'

/** What a process in a long poll and its parent agree on. */
export interface WaitArgument {
  readonly file: string
  readonly queue: string
}

export interface WaitReport extends ChildMessage {
  readonly kind: 'answered'
  readonly bodies: readonly string[]
  /** Wall time, the only clock that two processes share. */
  readonly at: number
}
