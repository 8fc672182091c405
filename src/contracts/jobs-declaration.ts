/**
 * How a queue of tracked jobs is declared: `jobs({ types: {...} })`. It is a standard queue with the same
 * names, settings and dead letters. In addition, each job has a type with its own contract, and a status that
 * can be read by id.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../core/durations.ts'
import { defaultJobAttempts } from '../core/job-defaults.ts'
import type { HandlerReturn } from './handler-outcome.ts'
import type { JobContext } from './job-context.ts'
import type {
  Backoff,
  DeclaredQueues,
  LimitsOf,
  MessageSchema,
  QueueOptions,
  WithDeadLetters,
} from './queue-declaration.ts'

export interface JobType<
  Payload extends MessageSchema = MessageSchema,
  Result extends MessageSchema = MessageSchema,
> {
  /** The schema of the payload. */
  readonly schema: Payload
  /** The schema of the result. Default: any JSON value. */
  readonly result?: Result
  /** How many times a job of this type may run, 1 to 1000. Default: the queue's `attempts`. */
  readonly attempts?: number
  /** The waits between attempts. Default: the queue's `backoff`. */
  readonly backoff?: Backoff
  /** How long after it is due a job may wait, 1s to ten years. Default: the queue's `expiresAfter`. */
  readonly expiresAfter?: Duration
  /** How long its handler may run. Default: the queue's `timeout`. */
  readonly timeout?: Duration
  /** How many jobs of this type may run at once, in all workers together. Default: no ceiling. */
  readonly concurrency?: number
  /** Kill switches that stop this type, in addition to those of the queue. */
  readonly obeys?: string | readonly string[]
  /**
   * Paths in the payload, such as `'card.number'`, that are masked. A path covers every element of an array.
   */
  readonly secret?: readonly string[]
  /** Paths in the payload that identify a person. They are masked like secrets. */
  readonly personal?: readonly string[]
  /** Refuses payloads with personal data. Default: the queue's `noPersonalData`. */
  readonly noPersonalData?: boolean
}

/** By name, 1 to 128 characters: the schema of the payload, or an object with the schema and options. */
export type JobTypes = Readonly<Record<string, MessageSchema | JobType>>

export interface JobsOptions<Types extends JobTypes = JobTypes>
  extends Omit<QueueOptions, 'schema' | 'secret' | 'personal'> {
  readonly types: Types
  /** How many times a job may run, 1 to 1000. Default 3. */
  readonly attempts?: number
  /**
   * A job fails if it still waits this long after it became due, 1s to ten years. Default: jobs wait for
   * ever. `retention` does not concern jobs, only plain messages in the queue.
   */
  readonly expiresAfter?: Duration
  /** How long an idempotency key is remembered, 1s to 90d. Default 24h. */
  readonly idempotencyFor?: Duration
  /** How long finished jobs are kept. */
  readonly keepFinished?: KeepFinished
  /** Whether the lines that handlers log with `context.log` are kept with the job. Default: true. */
  readonly keepLogs?: boolean
}

export interface KeepFinished {
  /** How long completed jobs are kept. Default 30d. */
  readonly completed?: Duration | 'forever'
  /** How long failed and cancelled jobs are kept. Default 90d. */
  readonly failed?: Duration | 'forever'
}

export interface JobsQueue<Types extends JobTypes = JobTypes> {
  readonly kind: 'jobs'
  readonly type: 'standard'
  readonly options: JobsOptions<Types>
}

/** The names of the job types of a queue. */
export type JobTypeName<Queue> =
  Queue extends JobsQueue<infer Types> ? Extract<keyof Types, string> : never

/** The payload that `enqueue` accepts: the input side of the type's schema. */
export type JobInput<Queue, Name extends JobTypeName<Queue>> = StandardSchemaV1.InferInput<
  PayloadSchema<DeclaredType<Queue, Name>>
>

/** The payload that a handler gets: the output side of the type's schema. */
export type JobOutput<Queue, Name extends JobTypeName<Queue>> = StandardSchemaV1.InferOutput<
  PayloadSchema<DeclaredType<Queue, Name>>
>

/** The result that a handler may return: the input side of the result's schema, or anything without one. */
export type JobResult<Queue, Name extends JobTypeName<Queue>> =
  DeclaredType<Queue, Name> extends { readonly result: infer Result extends MessageSchema }
    ? StandardSchemaV1.InferInput<Result>
    : unknown

/** The names of the job types that the worker needs a handler for, because they declare no `run`. */
export type HandledJobType<Queue> =
  Queue extends JobsQueue<infer Types>
    ? Extract<
        { [Name in keyof Types]: true extends HasRun<Types[Name]> ? never : Name }[keyof Types],
        JobTypeName<Queue>
      >
    : never

type HasRun<Type> = Type extends MessageSchema
  ? false
  : Type extends { readonly run: DeclaredRun }
    ? true
    : false

type DeclaredRun = (payload: never, context: never) => unknown

type DeclaredType<Queue, Name> =
  Queue extends JobsQueue<infer Types> ? (Name extends keyof Types ? Types[Name] : never) : never

type PayloadSchema<Type> = Type extends MessageSchema
  ? Type
  : Type extends { readonly schema: infer Payload extends MessageSchema }
    ? Payload
    : never

/**
 * Job types that may declare a handler next to their schema. The schemas are inferred one by one: otherwise
 * the compiler would not know the payload type when it checks `run`.
 */
type RunnableTypes<Schemas, Results> = {
  readonly [Name in keyof Schemas]:
    | MessageSchema
    | {
        readonly schema: Schemas[Name]
        /**
         * Handles jobs of this type in workers that pass no other handler for it. Returns the result, or an
         * outcome.
         */
        readonly run?: (
          payload: OutputOf<Schemas[Name]>,
          context: JobContext,
        ) => HandlerReturn<InputOf<Results[Name & keyof Results]>>
      }
} & {
  readonly [Name in keyof Results]: MessageSchema | { readonly result?: Results[Name] }
}

type OutputOf<Schema> = Schema extends MessageSchema ? StandardSchemaV1.InferOutput<Schema> : never

type InputOf<Schema> = Schema extends MessageSchema ? StandardSchemaV1.InferInput<Schema> : unknown

/** Declares a queue of tracked jobs. */
export function jobs<
  Types extends JobTypes,
  Schemas = Readonly<Record<keyof Types, unknown>>,
  Results = Readonly<Record<keyof Types, unknown>>,
>(
  options: JobsOptions<Types> & {
    readonly types: RunnableTypes<Schemas, Results>
  } & LimitsOf<PayloadSchema<NoInfer<Types>[keyof Types]>> &
    WithDeadLetters['options'],
): JobsQueue<Types> & WithDeadLetters
export function jobs<
  Types extends JobTypes,
  Schemas = Readonly<Record<keyof Types, unknown>>,
  Results = Readonly<Record<keyof Types, unknown>>,
>(
  options: JobsOptions<Types> & {
    readonly types: RunnableTypes<Schemas, Results>
  } & LimitsOf<PayloadSchema<NoInfer<Types>[keyof Types]>>,
): JobsQueue<Types>
export function jobs(options: JobsOptions): JobsQueue {
  return { kind: 'jobs', type: 'standard', options }
}

export function isJobsQueue(declared: object): declared is JobsQueue {
  return 'kind' in declared && declared.kind === 'jobs'
}

export function jobsQueuesOf(queues: DeclaredQueues): Readonly<Record<string, JobsQueue>> {
  return Object.fromEntries(
    Object.entries(queues).flatMap(([key, declared]) =>
      isJobsQueue(declared) ? [[key, declared] as const] : [],
    ),
  )
}

/** A declared type in its long form; undefined if the queue has no type of this name. */
export function jobTypeOf({ options: { types } }: JobsQueue, name: string): JobType | undefined {
  // Names come from callers: `constructor` must not match an inherited property.
  const declared = Object.hasOwn(types, name) ? types[name] : undefined
  if (declared === undefined) return undefined
  return isSchema(declared) ? { schema: declared } : declared
}

/** The handler that a type declares. Its parameters are typed where the type is declared. */
export function declaredRunOf(queue: JobsQueue, name: string): DeclaredRun | undefined {
  const type: (JobType & { readonly run?: DeclaredRun }) | undefined = jobTypeOf(queue, name)
  return type?.run
}

/** How many times a job runs if its own options do not set it. */
export function attemptsOf({ options }: JobsQueue, type: JobType): number {
  return type.attempts ?? options.attempts ?? options.deadLetter?.after ?? defaultJobAttempts
}

/** How long a job may wait if its own options do not say so. Undefined: for ever. */
export function expiresAfterOf({ options }: JobsQueue, type: JobType): Duration | undefined {
  return type.expiresAfter ?? options.expiresAfter
}

/** Whether it has the marker of a schema. The schemas of some libraries are functions. */
function isSchema(declared: MessageSchema | JobType): declared is MessageSchema {
  return '~standard' in declared
}
