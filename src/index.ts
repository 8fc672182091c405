/**
 * Millrace: durable queues declared once, in one typed value. Declare an app with `defineApp`, open
 * it with `open`, send and receive through `mill.queues`, enqueue and follow jobs through `mill.jobs`.
 */

/** Requests and answers of the backend port, for those who call it or write a backend. */
export type * as port from './backends/backend.ts'
export type {
  Backend,
  DeadLetterOrigin,
  LeaseRefusal,
  MessageAttribute,
  MoveTask,
  Page,
  PeekedMessage,
  QueueStatistics,
  SendResult,
} from './backends/backend.ts'
export type { Capabilities } from './backends/capabilities.ts'
export type { EnqueuedJob, JobAttempt } from './backends/job-store.ts'
export type { Notice } from './config/notice.ts'
export {
  type DeadLetterHandle,
  type HandleOf,
  type JobsQueueHandle,
  type Mill,
  type OpenOptions,
  open,
  type QueueHandle,
} from './config/open.ts'
export {
  type App,
  type AppDeclaration,
  type DeclaredQueues,
  defineApp,
} from './contracts/define-app.ts'
export {
  type JobInput,
  type JobOutput,
  type JobsOptions,
  type JobsQueue,
  type JobType,
  type JobTypeName,
  type JobTypes,
  jobs,
} from './contracts/jobs-declaration.ts'
export {
  type DeclaredQueue,
  type Deduplication,
  type FifoOptions,
  type FifoQueue,
  fifo,
  type MessageInput,
  type MessageOutput,
  type MessageSchema,
  type OwnDeadLetterQueue,
  type QueueOptions,
  queue,
  type SharedDeadLetterQueue,
  type StandardQueue,
} from './contracts/queue-declaration.ts'
export type { Duration } from './core/durations.ts'
export { type ErrorCode, errorCodes } from './core/error-codes.ts'
export type { FinishedJobStatus, JobStatus } from './core/job-state.ts'
export { MillraceError, type Violation } from './core/millrace-error.ts'
export type { Clock, Ids, Ports, Randomness, Timers } from './core/ports.ts'
export type { Extended, Settled } from './leases/lease-desk.ts'
export type { RefusedDelivery } from './leases/open-deliveries.ts'
export type { QueueConsumer, ReceiveOptions } from './leases/queue-consumer.ts'
export type { TypedDelivery } from './leases/typed-delivery.ts'
export type { SweepFailure } from './maintenance/sweeper.ts'
export type { PeekOptions, QueueInspector } from './operations/inspect.ts'
export type { QueuePurger } from './operations/purge.ts'
export type { Redrive, RedriveOptions } from './operations/redrive.ts'
export type { EnqueueOptions } from './producer/job-options.ts'
export type { JobEntry, JobOfType } from './producer/job-producer.ts'
export type { Draft, QueueProducer, Sent } from './producer/queue-producer.ts'
export type {
  ExplicitFifoSendOptions,
  FifoSendOptions,
  SendOptions,
  StandardSendOptions,
} from './producer/send-options.ts'
export type { AppJobs, JobsKey, ListJobsOptions } from './status/app-jobs.ts'
export type { FinishedJob, Job } from './status/job.ts'
export type { WaitOptions } from './status/wait-for-job.ts'
