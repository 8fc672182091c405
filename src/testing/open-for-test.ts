/**
 * `openForTest`, its options, and the app that it resolves with. Some tests use only a virtual clock, so the
 * code that runs an app is loaded by `openForTest`.
 */
import type { Notice } from '../app/notice.ts'
import type { Mill } from '../app/open.ts'
import type { App } from '../contracts/define-app.ts'
import type { Duration } from '../core/durations.ts'
import type { AppJobs } from '../jobs/app-jobs.ts'
import type { Logger } from '../observability/logger.ts'
import type { Handlers } from '../worker/worker-options.ts'
import type { JobsSpy, SentSpy } from './spies.ts'
import type { AdvanceOptions, DrainOptions } from './test-driver.ts'
import type { VirtualClock } from './virtual-clock.ts'
import type { WorkDone } from './work-record.ts'

/**
 * Opens an app for a test: on a store in memory, with virtual time and seeded randomness. Work runs and time
 * passes only when the test advances it.
 */
export async function openForTest<const Opened extends App>(
  app: Opened,
  options: TestOptions<Opened> = {},
): Promise<TestMill<Opened>> {
  const { openTestApp } = await import('./open-test-app.ts')
  return openTestApp(app, options)
}

/** Handlers by job type, or by the key of a plain queue, as a worker takes them. */
export type TestHandlers<Opened extends App> = Partial<
  Handlers<Opened['queues'], keyof Opened['queues'] & string, Opened>
>

export interface TestOptions<Opened extends App = App> {
  /**
   * The handlers that `drain` and `advance` run. Queues without a handler are not polled: what is sent there
   * stays, and the spies show it. Job types that declare `run` need none.
   */
  readonly handle?: TestHandlers<Opened>
  /** The virtual time at the start. Default: 2026-01-01, midnight UTC. */
  readonly now?: Date
  /** Decides ids and random numbers. Default 1. */
  readonly seed?: number
  /** How many handlers may run at once. Default 1, so that they run in order. */
  readonly concurrency?: number
  /**
   * Samples metrics, evaluates alarms and looks for stuck work in every virtual minute, as in production. It
   * makes `advance` slower, about a second for a day. Default: false.
   */
  readonly monitoring?: boolean
  /**
   * A folder for the store, for tests of your own transactions or of a restart. Default: the store is in
   * memory.
   */
  readonly data?: string
  /** Gets the lines of the app. Default: none are written. */
  readonly log?: Logger
  /** Called with notices of the app. Default: they are dropped. */
  readonly onNotice?: (notice: Notice) => void
}

/** An open app that a test controls. */
export interface TestMill<Opened extends App = App> extends Omit<Mill<Opened>, 'jobs'> {
  /**
   * The jobs of the app. Called with the key of a queue, it resolves with every job of the queue, oldest
   * first.
   */
  readonly jobs: AppJobs<Opened['queues']> & JobsSpy<Opened['queues']>
  /**
   * Every message that was sent to a queue, in order: also those that handlers, flows and schedules sent, and
   * those that are gone.
   */
  readonly sent: SentSpy<Opened['queues']>
  /**
   * Runs all work that is due now, and what follows from it, until nothing is due. Time does not pass.
   * Resolves with how the attempts ended.
   */
  drain(options?: DrainOptions): Promise<WorkDone>
  /**
   * Lets time pass, and does everything that falls due on the way, each at its own time: delays, retries,
   * schedules, windows of collectors, leases. Time waits while handlers run.
   */
  advance(duration: Duration, options?: AdvanceOptions): Promise<WorkDone>
  /** The same up to a moment. */
  advanceTo(time: Date, options?: AdvanceOptions): Promise<WorkDone>
  /** Makes the next attempt of a job type, or of a plain queue, fail with this error before its handler runs. */
  failNext(name: keyof TestHandlers<Opened> & string, error?: unknown): void
  /** The present virtual time. */
  now(): Date
  readonly clock: VirtualClock
}
