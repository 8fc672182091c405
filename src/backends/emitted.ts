/** What is stored in the commit of a settlement, a tick or the end of a flow. */
import type { NewMessage } from '../core/message.ts'
import type { NewJob } from './job-store.ts'
import type { QueueName } from './stored-message.ts'

export interface EmittedMessage extends QueueName {
  readonly message: NewMessage
}

/** A message or a job that is stored in the commit of something else. */
export type Emitted = EmittedMessage | EmittedJob

export interface EmittedJob extends QueueName {
  readonly job: NewJob
}
