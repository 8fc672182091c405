/** The options of a worker: which queues it polls, with what weight, and the handlers. */
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
 * Handlers by job type for jobs queues, and by queue key for queues of plain messages. Triggers need no
 * handler. Job types that declare `run` need none either; a handler given here replaces it.
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
    // The result of a plain message's handler is only used by the next step of a chain.
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

/** The handlers of queues that are not polled. The worker ignores them. */
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
   * The queues to poll. With weights such as `{ basic: 3, lite: 1 }`, three quarters of the work come from
   * the first queue while both have work. A queue gets the share that the others do not use.
   */
  readonly poll: readonly Polled[] | { readonly [Key in Polled]: number }
  /**
   * A handler for every polled job type and plain queue. Handlers of other queues are ignored, so several
   * workers can share one object.
   */
  readonly handle: Handlers<Queues, Polled, Parts> & OtherHandlers<Queues, Polled, Parts>
  /** How many handlers may run at once in this worker. Default 10. */
  readonly concurrency?: number
  /** The same for single queues. Default: the worker's `concurrency`. */
  readonly queueConcurrency?: { readonly [Key in Polled]?: number }
  /** Middleware that runs around every handler, the first one outermost. */
  readonly use?: readonly Middleware[]
  /** How long `stop` waits for running handlers before it releases their messages. Default 30s. */
  readonly stopTimeout?: Duration
  /** Called with each event of this worker. */
  readonly onEvent?: (event: WorkerEvent) => void
}

export type UntypedHandler = (payload: unknown, context: HandlerContext) => unknown

/** The same without the types of an app. */
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
