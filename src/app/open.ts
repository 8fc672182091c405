/**
 * `open`, its options, and the open app that it resolves with. Some programs only share an app's types or
 * print its template. Declaring an app must be cheap for them, so the code that runs an app is loaded by
 * `open`.
 */
import type { Backend, Backup, BackupReport, MoveTask } from '../backends/backend.ts'
import type { CarrierChoice } from '../backends/carriers/carrier.ts'
import type { Store } from '../backends/store.ts'
import type { App } from '../contracts/define-app.ts'
import type { JobsQueue } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, WithDeadLetters } from '../contracts/queue-declaration.ts'
import type { Duration } from '../core/durations.ts'
import type { Ports } from '../core/ports.ts'
import type { CollectorHandles } from '../flows/collectors.ts'
import type { ChainHandles, FlowHandles } from '../flows/flows.ts'
import type { Schedules } from '../flows/schedules.ts'
import type { AppJobs } from '../jobs/app-jobs.ts'
import type { Logger } from '../observability/logger.ts'
import type { AnyTracerProvider } from '../observability/open-telemetry.ts'
import type { Alarms } from '../operations/alarms/alarms.ts'
import type { Budgets } from '../operations/budgets.ts'
import type { Inbox, InboxMessage } from '../operations/inbox.ts'
import type { QueueInspector, QueuePurger } from '../operations/inspect.ts'
import type { Metrics } from '../operations/metrics/metrics.ts'
import type { Redrive, RedriveOptions } from '../operations/redrive.ts'
import type { Switches } from '../operations/switches.ts'
import type { QueueProducer } from '../producer/queue-producer.ts'
import type { QueueConsumer } from '../receiving/queue-consumer.ts'
import type { JobReports } from '../worker/job-reports.ts'
import type { Worker } from '../worker/worker.ts'
import type { WorkerOptions } from '../worker/worker-options.ts'
import type { EncryptionKey } from './encryption-keys.ts'
import type { Notice } from './notice.ts'

export async function open<const Opened extends App>(
  app: Opened,
  options: OpenOptions = {},
): Promise<Mill<Opened>> {
  const { openApp } = await import('./open-app.ts')
  return openApp(app, options)
}

export interface OpenOptions {
  /**
   * Where everything is kept: `postgres(url)` of `millrace/postgres`, the URL of a Postgres database, or the
   * folder of the embedded store. It is created if missing. Default: MILLRACE_STORE, MILLRACE_DATA, or `.millrace`.
   */
  readonly store?: Store | string
  /** The folder of the embedded store, instead of `store`. */
  readonly data?: string
  /**
   * Transports the messages of all queues, next to the store: `sqs()` of `millrace/sqs`, or `bullmq(url)` of
   * `millrace/bullmq`. Queues that exist in the store already stay where they are. Default: none, the store
   * does it.
   */
  readonly carrier?: CarrierChoice
  /** Part of the names of the queues. Default: MILLRACE_STAGE, the app's own `stage`, or `dev`. */
  readonly stage?: string
  /** An open backend instead of a store. The program that opened it must close it. */
  readonly backend?: Backend
  /** Clock, timers, randomness and ids. Default: those of the system. */
  readonly ports?: Ports
  /**
   * Called with refused messages, failures of maintenance, findings of the janitor, alarms that change their
   * state, jumps of the wall clock, and workers that were never started. Default: each is logged, or emitted
   * as a process warning if there is no `log`.
   */
  readonly onNotice?: (notice: Notice) => void
  /**
   * Gets one line per transition of a job. Any logger with these four methods works. Default: none, and
   * failed attempts are printed to stderr. `false`: none, and nothing is printed.
   */
  readonly log?: Logger | false
  /**
   * Spans of OpenTelemetry for sending, receiving and running work. `true` refuses to open the app if no
   * tracer provider is registered; a provider is used instead of the registered one. Default: on if one is
   * registered when the app is opened. It needs the package `@opentelemetry/api`.
   */
  readonly traces?: boolean | AnyTracerProvider
  /**
   * Lets alarms post to webhooks on this machine and in private networks. Default: MILLRACE_PRIVATE_WEBHOOKS
   * (`allow` or `refuse`), or false.
   */
  readonly allowPrivateWebhooks?: boolean
  /**
   * Seals all content in the store with the first of these keys, and opens what any of them has sealed. Default:
   * MILLRACE_ENCRYPTION_KEYS (`id:key`, comma separated), or none.
   */
  readonly encryptionKeys?: readonly EncryptionKey[]
  /**
   * How long a call waits for other processes that write to the embedded store, or for a database server that
   * cannot be reached. Default: 1m, or 15s for a server.
   */
  readonly busyTimeout?: Duration
}

export interface QueueHandle<Queue extends DeclaredQueue>
  extends QueueProducer<Queue>,
    QueueConsumer<Queue>,
    JobsQueueHandle<Queue> {}

/** The operations of every queue. A jobs queue has no others: enqueue its jobs with `mill.jobs`. */
export interface JobsQueueHandle<Queue = DeclaredQueue> extends QueueInspector, QueuePurger {
  /** The queue's name on the backend. */
  readonly name: string
  /** Its dead-letter queue; null if it has none. */
  readonly deadLetters: [Queue] extends [WithDeadLetters]
    ? DeadLetterHandle
    : DeadLetterHandle | null
}

export type HandleOf<Queue extends DeclaredQueue> = [Queue] extends [JobsQueue]
  ? JobsQueueHandle<Queue>
  : QueueHandle<Queue>

export interface DeadLetterHandle extends QueueInspector, QueuePurger {
  /** The dead-letter queue's name on the backend. */
  readonly name: string
  /** Sends the dead letters back to their queue. Only one redrive runs at a time. */
  redrive(options?: RedriveOptions): Promise<Redrive>
  /** The latest redrives of all processes, newest first. */
  redrives(): Promise<readonly MoveTask[]>
}

export interface Mill<Opened extends App = App> extends AsyncDisposable {
  readonly app: Opened
  readonly stage: string
  /** The file of the embedded store, for your own transactions; null for other stores. */
  readonly storeFile: string | null
  readonly queues: { readonly [Key in keyof Opened['queues']]: HandleOf<Opened['queues'][Key]> }
  /** Tracked jobs of the queues declared with `jobs`. */
  readonly jobs: AppJobs<Opened['queues']>
  /** Progress, results and failures of jobs that another program has received, by their receipts. */
  readonly reports: JobReports
  /** Fan-out and fan-in: work split into units, and a final step after all units have ended. */
  readonly flows: FlowHandles<Opened['queues'], Opened>
  /** Steps that run one after the other. */
  readonly chains: ChainHandles<Opened['queues'], Opened>
  /** Items with the same key, merged into one message. */
  readonly collectors: CollectorHandles<Opened>
  /** Kill switches that stop a queue, a job type, a tier, a tenant, or everything that obeys a name. */
  readonly switches: Switches
  /** What handlers have spent, by budget. Read, reset and add to it. */
  readonly budgets: Budgets
  /** Queue metrics by the minute, and your own values. */
  readonly metrics: Metrics
  /** Alarms: their states and history, and sending a test notification. */
  readonly alarms: Alarms
  /** Schedules: read when they tick, pause and resume them, or run one now. */
  readonly schedules: Schedules<Opened>
  /** A queue whose messages are handled by people: they claim, renew, resolve or release messages. */
  inbox<const Key extends keyof Opened['queues'] & string>(
    queue: Key,
  ): Inbox<InboxMessage<Opened['queues'][Key]>>
  /**
   * Makes a worker for some of the queues. Call `run` or `start` to start it. A worker that is not started
   * within five seconds is reported to `onNotice`.
   */
  worker<const Polled extends keyof Opened['queues'] & string>(
    options: WorkerOptions<Opened['queues'], Polled, Opened>,
  ): Worker
  /**
   * Resolves if the app can be used: its store can be read and written. Otherwise rejects with
   * `store_replaced`, `store_full`, `store_busy` after two seconds, or `store_closed` after `close`.
   */
  ready(): Promise<void>
  /**
   * Copies the store into a new file while it is in use, and verifies the copy. The file appears under its
   * name when it is complete. An existing file is refused.
   */
  backup(file: string, options?: BackupOptions): Promise<BackupReport>
  /**
   * Stops the workers, ends waiting receives, completes calls under way, and closes the store. Repeated calls
   * share one promise.
   */
  close(): Promise<void>
}

export type BackupOptions = Omit<Backup, 'file'>
