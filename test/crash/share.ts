import type { ChildMessage } from '../support/child-program.ts'

/** What the processes that share a file and their parent agree on. */
export interface ShareArgument {
  readonly file: string
  readonly queue: string
  readonly name: string
  readonly sends: number
}

export interface ShareProgress extends ChildMessage {
  readonly kind: 'progress'
  /** Messages worked off since the last report. */
  readonly count: number
}

export interface SharedDelivery {
  readonly id: string
  readonly token: number
  /** Who sent it, and as which of its messages. */
  readonly sender: string
  readonly index: number
}

export interface ShareReport extends ChildMessage {
  readonly kind: 'report'
  readonly sent: string[]
  readonly delivered: SharedDelivery[]
  readonly acknowledged: string[]
}
