/** What a worker is told: which queues it serves, with what weight, and what handles their work. */
import type { TriggersQueue } from '../contracts/collector-declaration.ts'
import type { DeclaredFlowParts, DeclaredQueues, NoParts } from '../contracts/define-app.ts'
import type { HandlerReturn } from '../contracts/handler-outcome.ts'
import type {
  HandledJobType,
  JobOutput,
  JobResult,
  JobsQueue,
  JobTypeName,
} from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageOutput } from '../contracts/queue-declaration.ts'
import type { Duration } from '../core/durations.ts'
import type { HandlerContext } from './handler-context.ts'
import type { Middleware } from './middleware.ts'
import type { WorkerEvent } from './worker-event.ts'

export type Handler<
  Payload,
  Result,
  Queues extends DeclaredQueues,
  Parts extends DeclaredFlowParts = NoParts,
> = (payload: Payload, context: HandlerContext<Queues, Parts>) => HandlerReturn<Result>

/**
 * By job type for queues of jobs, by queue key for queues of plain messages. Triggers need none, nor do job types
 * that declare `run`; a handler given here is used in its place.
 */
export type Handlers<
  Queues extends DeclaredQueues,
  Polled extends keyof Queues,
  Parts extends DeclaredFlowParts = NoParts,
> = {
  readonly [Name in HandledJobType<Queues[Polled]>]: JobHandler<Queues, Polled, Name, Parts>
} & {
  readonly [Name in Exclude<
    JobTypeName<Queues[Polled]>,
    HandledJobType<Queues[Polled]>
  >]?: JobHandler<Queues, Polled, Name, Parts>
} & {
  readonly [Key in Polled as Queues[Key] extends JobsQueue | TriggersQueue ? never : Key]: Handler<
    MessageOutput<Extract<Queues[Key], DeclaredQueue>>,
    // What a handler of plain messages answers is of use only to the next step of a chain.
    unknown,
    Queues,
    Parts
  >
}

type JobHandler<
  Queues extends DeclaredQueues,
  Polled extends keyof Queues,
  Name extends JobTypeName<Queues[Polled]>,
  Parts extends DeclaredFlowParts,
> = Handler<JobOutput<Queues[Polled], Name>, JobResult<Queues[Polled], Name>, Queues, Parts>

/** The handlers of queues that are not polled: a worker does not need them, and leaves them alone. */
type OtherHandlers<
  Queues extends DeclaredQueues,
  Polled extends keyof Queues,
  Parts extends DeclaredFlowParts,
> = Partial<Omit<Handlers<Queues, keyof Queues, Parts>, keyof Handlers<Queues, Polled, Parts>>>

export interface WorkerOptions<
  Queues extends DeclaredQueues = DeclaredQueues,
  Polled extends keyof Queues & string = keyof Queues & string,
  Parts extends DeclaredFlowParts = NoParts,
> {
  /**
   * The queues to serve. With weights, `{ basic: 3, lite: 1 }`, three quarters of the work come from the
   * first while both have some; what one does not use, the others get.
   */
  readonly poll: readonly Polled[] | { readonly [Key in Polled]: number }
  /**
   * A handler for every job type, and every plain queue, that is polled. Handlers of other queues are left alone, so
   * that several workers can share one object.
   */
  readonly handle: Handlers<Queues, Polled, Parts> & OtherHandlers<Queues, Polled, Parts>
  /** Handlers that run at once in this worker. Default 10. */
  readonly concurrency?: number
  /** The same for one queue. Default: all of the worker's. */
  readonly queueConcurrency?: { readonly [Key in Polled]?: number }
  /** Runs around every handler, the first one outermost. */
  readonly use?: readonly Middleware[]
  /** How long `stop` waits for running handlers before it hands their work back. Default 30s. */
  readonly stopTimeout?: Duration
  /** Told of everything that happens to work of this worker. */
  readonly onEvent?: (event: WorkerEvent) => void
}

export type UntypedHandler = (payload: unknown, context: HandlerContext) => unknown

/** The same before the types of an app are known. */
export interface UntypedWorkerOptions {
  readonly poll: readonly string[] | Readonly<Record<string, number>>
  readonly handle: Readonly<Record<string, UntypedHandler>>
  readonly concurrency?: number
  readonly queueConcurrency?: Readonly<Record<string, number>>
  readonly use?: readonly Middleware[]
  readonly stopTimeout?: Duration
  readonly onEvent?: (event: WorkerEvent) => void
}

export const workerDefaults = { concurrency: 10, stopTimeout: '30s' } as const
