/**
 * How a queue of tracked jobs is declared: `jobs({ types: {...} })`. Underneath it is a standard queue,
 * so names, settings and dead letters are those of any other; what it adds is that each entry has a
 * type with a contract of its own, and a fate that can be asked for.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../core/durations.ts'
import type { HandlerReturn } from './handler-outcome.ts'
import type { JobContext } from './job-context.ts'
import type {
  Backoff,
  DeclaredQueues,
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
  /** How often it is tried, 1 to 1000. Default: as the queue says. */
  readonly attempts?: number
  /** Default: as the queue says. */
  readonly backoff?: Backoff
  /** How long its handler may take. Default: as the queue says. */
  readonly timeout?: Duration
  /** How many of this type may run at once, in all workers together. */
  readonly concurrency?: number
  /** Kill switches that stop this type, beside those of the queue. */
  readonly obeys?: string | readonly string[]
  /** Paths in the payload, such as `'card.number'`, that are masked. In an array each element counts. */
  readonly secret?: readonly string[]
  /** Paths in the payload that tell who somebody is. They are masked like secrets. */
  readonly personal?: readonly string[]
  /** Refuses payloads with personal data. Default: as the queue says. */
  readonly noPersonalData?: boolean
}

/** By name, 1 to 128 characters: the schema of the payload, or that and more. */
export type JobTypes = Readonly<Record<string, MessageSchema | JobType>>

export interface JobsOptions<Types extends JobTypes = JobTypes>
  extends Omit<QueueOptions, 'schema' | 'secret' | 'personal'> {
  readonly types: Types
  /** How often a job is tried, 1 to 1000. Default 3. */
  readonly attempts?: number
  /** How long an idempotency key is remembered. Default 24h, from 1s to 90d. */
  readonly idempotencyFor?: Duration
  /** How long finished jobs are remembered. */
  readonly keepFinished?: KeepFinished
}

export interface KeepFinished {
  /** Default 30d. */
  readonly completed?: Duration | 'forever'
  /** Of failed and cancelled jobs. Default 90d. */
  readonly failed?: Duration | 'forever'
}

export interface JobsQueue<Types extends JobTypes = JobTypes> {
  readonly kind: 'jobs'
  readonly type: 'standard'
  readonly options: JobsOptions<Types>
}

/** The names of the types that a queue of jobs takes. */
export type JobTypeName<Queue> =
  Queue extends JobsQueue<infer Types> ? Extract<keyof Types, string> : never

/** What an enqueue may pass: the input side of the type's schema. */
export type JobInput<Queue, Name extends JobTypeName<Queue>> = StandardSchemaV1.InferInput<
  PayloadSchema<DeclaredType<Queue, Name>>
>

/** What a handler gets: the output side of the type's schema. */
export type JobOutput<Queue, Name extends JobTypeName<Queue>> = StandardSchemaV1.InferOutput<
  PayloadSchema<DeclaredType<Queue, Name>>
>

/** What a handler may answer: the input side of the result's schema, or anything without one. */
export type JobResult<Queue, Name extends JobTypeName<Queue>> =
  DeclaredType<Queue, Name> extends { readonly result: infer Result extends MessageSchema }
    ? StandardSchemaV1.InferInput<Result>
    : unknown

/** The names of the types that need a handler from the worker, because they declare no `run`. */
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

export const defaultJobAttempts = 3
export const defaultIdempotencyFor: Duration = '24h'

/**
 * Job types with the handler that may stand beside a schema. The schemas are inferred one by one, so that the payload
 * of `run` has its type: from the types as a whole they are not known before `run` is.
 */
type RunnableTypes<Schemas, Results> = {
  readonly [Name in keyof Schemas]:
    | MessageSchema
    | {
        readonly schema: Schemas[Name]
        /**
         * Runs a job of this type in workers that are not given another handler for it. It returns the result, or an
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
  } & WithDeadLetters['options'],
): JobsQueue<Types> & WithDeadLetters
export function jobs<
  Types extends JobTypes,
  Schemas = Readonly<Record<keyof Types, unknown>>,
  Results = Readonly<Record<keyof Types, unknown>>,
>(
  options: JobsOptions<Types> & { readonly types: RunnableTypes<Schemas, Results> },
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

/** A declared type in its long form; undefined when the queue has no type of this name. */
export function jobTypeOf({ options: { types } }: JobsQueue, name: string): JobType | undefined {
  // Names come from callers: `constructor` is no type of any queue.
  const declared = Object.hasOwn(types, name) ? types[name] : undefined
  if (declared === undefined) return undefined
  return isSchema(declared) ? { schema: declared } : declared
}

/** The handler that a type declares; the types of the declaration know what it takes. */
export function declaredRunOf(queue: JobsQueue, name: string): DeclaredRun | undefined {
  const type: (JobType & { readonly run?: DeclaredRun }) | undefined = jobTypeOf(queue, name)
  return type?.run
}

/** How often a job is tried when it does not say so itself. */
export function attemptsOf({ options }: JobsQueue, type: JobType): number {
  return type.attempts ?? options.attempts ?? options.deadLetter?.after ?? defaultJobAttempts
}

/** Whether it claims to be a schema; some libraries' schemas are functions. */
function isSchema(declared: MessageSchema | JobType): declared is MessageSchema {
  return '~standard' in declared
}
