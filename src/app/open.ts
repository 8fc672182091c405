/**
 * `open`, what it takes, and the open app that it resolves with. Declaring an app must cost little, also in
 * programs that only share its types or print its template, so what runs an app is loaded when one is opened.
 */
import type { Backend, Backup, BackupReport, MoveTask } from '../backends/backend.ts'
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
import type { Alarms } from '../operations/alarms/alarms.ts'
import type { Inbox, InboxMessage } from '../operations/inbox.ts'
import type { QueueInspector, QueuePurger } from '../operations/inspect.ts'
import type { Metrics } from '../operations/metrics/metrics.ts'
import type { Redrive, RedriveOptions } from '../operations/redrive.ts'
import type { Budgets, Switches } from '../operations/switches.ts'
import type { QueueProducer } from '../producer/queue-producer.ts'
import type { QueueConsumer } from '../receiving/queue-consumer.ts'
import type { Worker } from '../worker/worker.ts'
import type { WorkerOptions } from '../worker/worker-options.ts'
import type { Notice } from './notice.ts'

export async function open<const Opened extends App>(
  app: Opened,
  options: OpenOptions = {},
): Promise<Mill<Opened>> {
  const { openApp } = await import('./open-app.ts')
  return openApp(app, options)
}

export interface OpenOptions {
  /** Where the embedded store lives; created when missing. Default MILLRACE_DATA, or `.millrace`. */
  readonly data?: string
  /** Part of the queues' names. Default MILLRACE_STAGE, the app's own stage, or `dev`. */
  readonly stage?: string
  /** A backend instead of the embedded store. The program that opened it closes it. */
  readonly backend?: Backend
  /** Time, chance and identity. Default: those of the machine. */
  readonly ports?: Ports
  /**
   * Called with messages that were refused, failures of maintenance, findings of the janitor, alarms that
   * change their state, jumps of the wall clock, and workers that were never started. Default: a line in the
   * log, or a process warning without one.
   */
  readonly onNotice?: (notice: Notice) => void
  /** Gets one line per transition of a job; any logger with these four methods. Default: none. */
  readonly log?: Logger
  /**
   * Lets alarms post to webhooks on this machine and in private networks. Default: the variable
   * MILLRACE_PRIVATE_WEBHOOKS (`allow` or `refuse`), or no.
   */
  readonly allowPrivateWebhooks?: boolean
  /** How long a call waits for other processes that write to the store. Default 1m. */
  readonly busyTimeout?: Duration
}

export interface QueueHandle<Queue extends DeclaredQueue>
  extends QueueProducer<Queue>,
    QueueConsumer<Queue>,
    JobsQueueHandle<Queue> {}

/** What every queue offers. A jobs queue offers no more: enqueue its jobs with `mill.jobs`. */
export interface JobsQueueHandle<Queue = DeclaredQueue> extends QueueInspector, QueuePurger {
  /** The queue's name on the backend. */
  readonly name: string
  /** Its dead-letter queue; null if it declares none. */
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
  /** Sends the dead letters back; one redrive at a time. */
  redrive(options?: RedriveOptions): Promise<Redrive>
  /** The latest redrives of all processes, newest first. */
  redrives(): Promise<readonly MoveTask[]>
}

export interface Mill<Opened extends App = App> extends AsyncDisposable {
  readonly app: Opened
  readonly stage: string
  /** The file of the embedded store, for transactions of your own; null on a backend you brought. */
  readonly storeFile: string | null
  readonly queues: { readonly [Key in keyof Opened['queues']]: HandleOf<Opened['queues'][Key]> }
  /** Tracked jobs, of the queues that were declared with `jobs`. */
  readonly jobs: AppJobs<Opened['queues']>
  /** Fan-out and fan-in: work in units, and what follows when all of them have ended. */
  readonly flows: FlowHandles<Opened['queues'], Opened>
  /** Steps that follow each other. */
  readonly chains: ChainHandles<Opened['queues'], Opened>
  /** Items of one key, merged into one message. */
  readonly collectors: CollectorHandles<Opened>
  /** Kill switches: stop work of a queue, a type, a tier, a tenant, or by name. */
  readonly switches: Switches
  /** What handlers have spent. */
  readonly budgets: Budgets
  /** How queues fare by the minute, and values of the app's own. */
  readonly metrics: Metrics
  /** Conditions that somebody should hear of: their states, their past, and testing them. */
  readonly alarms: Alarms
  /** What is sent by the clock: when, and pausing or running it by hand. */
  readonly schedules: Schedules<Opened>
  /** The messages of a queue in the hands of people: claimed, renewed, resolved or given back. */
  inbox<const Key extends keyof Opened['queues'] & string>(
    queue: Key,
  ): Inbox<InboxMessage<Opened['queues'][Key]>>
  /**
   * Makes a worker for some of the queues; `run` or `start` sets it to work. A worker that is not started within
   * five seconds is reported to `onNotice`.
   */
  worker<const Polled extends keyof Opened['queues'] & string>(
    options: WorkerOptions<Opened['queues'], Polled, Opened>,
  ): Worker
  /**
   * Resolves when the app can be used: its store can be read and written. Rejects with the reason when it cannot:
   * `store_replaced`, `store_full`, `store_busy` after two seconds, or `store_closed` from `close` on.
   */
  ready(): Promise<void>
  /**
   * Copies the store into a new file while it is in use, and verifies the copy. The file gets its name
   * when it is whole; one that exists is refused.
   */
  backup(file: string, options?: BackupOptions): Promise<BackupReport>
  /**
   * Stops the workers, ends parked receives, finishes what has begun, lets go of the store. Calls
   * share one promise.
   */
  close(): Promise<void>
}

export type BackupOptions = Omit<Backup, 'file'>
