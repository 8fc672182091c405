/** The types of functions: their handlers, by the queue that feeds them, and what handlers are called with. */
import type { Backend } from '../backends/backend.ts'
import type { Store } from '../backends/store.ts'
import type { TriggersQueue } from '../contracts/collector-declaration.ts'
import type { App } from '../contracts/define-app.ts'
import type { JobOutput, JobsQueue, JobTypeName } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageOutput } from '../contracts/queue-declaration.ts'
import type { Duration } from '../core/durations.ts'
import type { Ports } from '../core/ports.ts'
import type { Logger } from '../observability/logger.ts'
import type { HandlerContext } from '../worker/handler-context.ts'
import type { Handlers } from '../worker/worker-options.ts'
import type { LambdaContext, SqsBatchRecord } from './sqs-batch.ts'

/** What only a function has. */
export interface RecordFacts {
  /** The record of the event, as AWS passed it. */
  readonly record: SqsBatchRecord
  /** The context of the invocation. */
  readonly lambda: LambdaContext
}

/** The context of a handler without a store. */
export interface FunctionContext
  extends RecordFacts,
    Pick<HandlerContext, 'id' | 'queue' | 'type' | 'attempt' | 'maxAttempts' | 'signal'> {
  /** On a standard queue the tenant of the message, on a FIFO queue its group. */
  readonly tenant: string | null
}

export type QueueKey<Opened extends App> = keyof Opened['queues'] & string

/** One handler for a queue of messages, or one per job type. */
export type FunctionHandlers<
  Opened extends App,
  Key extends QueueKey<Opened>,
> = Opened['queues'][Key] extends JobsQueue
  ? {
      readonly [Name in JobTypeName<Opened['queues'][Key]>]: (
        payload: JobOutput<Opened['queues'][Key], Name>,
        context: FunctionContext,
      ) => unknown
    }
  : (
      message: MessageOutput<Extract<Opened['queues'][Key], DeclaredQueue>>,
      context: FunctionContext,
    ) => unknown

/** The same with a store: the context is that of a worker. A queue of triggers has null, and no handler. */
export type StoreHandlers<
  Opened extends App,
  Key extends QueueKey<Opened>,
> = Opened['queues'][Key] extends TriggersQueue
  ? null
  : Opened['queues'][Key] extends JobsQueue
    ? WithRecords<Handlers<Opened['queues'], Key, Opened>>
    : WithRecord<
        Handlers<Opened['queues'], Key, Opened>[Key & keyof Handlers<Opened['queues'], Key, Opened>]
      >

type WithRecords<All> = { readonly [Name in keyof All]: WithRecord<All[Name]> }

type WithRecord<Handler> = Handler extends (
  payload: infer Payload,
  context: infer Context,
) => infer Returned
  ? (payload: Payload, context: Context & RecordFacts) => Returned
  : Handler

/** The store that a function opens when its first batch arrives, and keeps open. */
export interface FunctionStore {
  /** A store, the URL of a Postgres database, or a folder. It must exist. Default: MILLRACE_STORE. */
  readonly store?: Store | string
  /** The folder of the embedded store, instead of `store`. Default: MILLRACE_DATA. */
  readonly data?: string
  /** Part of the names of the queues. Default: MILLRACE_STAGE, the app's own `stage`, or `dev`. */
  readonly stage?: string
  /** An open backend instead of a store. The program that opened it must close it. */
  readonly backend?: Backend
  /** Gets the lines of `context.log`. Default: the console, as JSON. */
  readonly log?: Logger
  /** Clock, timers, randomness and ids. Default: those of the system. */
  readonly ports?: Ports
  /** The same as for `open`. */
  readonly busyTimeout?: Duration
}

/** The same without the types of an app. By job type, or with an empty name for plain messages. */
export type HandlersByType = ReadonlyMap<string, UntypedFunctionHandler>

export type UntypedFunctionHandler = (message: unknown, context: FunctionContext) => unknown
