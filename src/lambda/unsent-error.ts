/** What SQS has taken, and the error for what it has not. */
import { MillraceError } from '../core/millrace-error.ts'

/** A message that SQS has stored. */
export interface SqsSent {
  readonly id: string
  /** The sequence number on a FIFO queue; null on others. */
  readonly sequence: string | null
}

export interface UnsentMessage {
  /** Its index in the call. */
  readonly index: number
  /**
   * The error code of SQS or of the network, such as `ThrottlingException` or `ECONNREFUSED`; `NotSent` if the
   * message was not tried, `Unknown` if the error has no code.
   */
  readonly code: string
  readonly reason: string
}

/** Some messages of `sendMany` were not sent. */
export class UnsentError extends MillraceError {
  readonly unsent: readonly UnsentMessage[]
  /** What was sent, by the index of the message; null for the others. */
  readonly sent: readonly (SqsSent | null)[]

  constructor(unsent: readonly UnsentMessage[], sent: readonly (SqsSent | null)[], cause: unknown) {
    const [first] = unsent
    const message = `${unsent.length} of ${sent.length} messages were not sent. The first: messages[${first?.index}]: ${first?.reason}`
    super('send_failed', { message, ...(cause !== undefined && { cause }) })
    this.unsent = unsent
    this.sent = sent
  }
}
