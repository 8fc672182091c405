/**
 * Opens an app for a test: on a store in memory, with virtual time and seeded randomness. Work runs and time
 * passes only when the test says so. Each run of a test is the same.
 */
import { prepareDataDirectory } from '../app/data-directory.ts'
import { startTestMaintenance } from '../app/maintenance.ts'
import type { Notice } from '../app/notice.ts'
import type { Mill, OpenOptions } from '../app/open.ts'
import { openApp } from '../app/open-app.ts'
import type { RecordingStore } from '../backends/sqlite/index.ts'
import type { App } from '../contracts/define-app.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { describeGiven } from '../core/checks.ts'
import type { Duration } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { AppJobs, UntypedJobs } from '../jobs/app-jobs.ts'
import type { Logger } from '../observability/logger.ts'
import type { Worker } from '../worker/worker.ts'
import type { Handlers, UntypedWorkerOptions } from '../worker/worker-options.ts'
import { type JobsSpy, jobsSpy, type SentSpy, sentSpy } from './spies.ts'
import { type AdvanceOptions, type DrainOptions, TestDriver } from './test-driver.ts'
import { type TestWorkerOptions, testWorkerOptions } from './test-worker.ts'
import {
  type VirtualClock,
  type VirtualClockOptions,
  type VirtualPorts,
  virtualPorts,
} from './virtual-clock.ts'
import { type WorkDone, WorkRecord } from './work-record.ts'

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

const testOptions: OptionNames<TestOptions> = {
  handle: true,
  now: true,
  seed: true,
  concurrency: true,
  monitoring: true,
  data: true,
  log: true,
  onNotice: true,
}

const stage = 'test'

const nothing = (): void => undefined

/** Not the silent logger: an app without a log may write to stderr. */
const quietLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

export async function openForTest<const Opened extends App>(
  app: Opened,
  options: TestOptions<Opened> = {},
): Promise<TestMill<Opened>> {
  refuseUnknownOptions(options, testOptions)
  const ports = virtualPorts(options.seed, startingAt(options.now))
  const { queues } = resolveQueues(app, stage)
  // Handlers are typed by the app. The worker checks them once more.
  const ownWorker = testWorkerOptions(queues, options as TestWorkerOptions)
  const { store, storeFile } = await openStore(options.data, ports)
  const record = new WorkRecord()
  const { clock } = ports
  const { monitoring = false } = options
  const driver = new TestDriver({
    clock,
    record,
    maintain: (setup) => startTestMaintenance(setup, { monitoring }),
  })
  let mill: Mill<Opened> | undefined
  const close = closedOnce(clock, async () => {
    await mill?.close()
    await store.backend.close()
  })
  try {
    mill = await openApp(app, openOptions(options, { ports, store }), driver)
    const { worker, jobs } = mill as unknown as UntypedMill
    if (ownWorker !== undefined) worker(ownWorker)
    const spied = { queues, store, jobs }
    return {
      ...mill,
      storeFile,
      jobs: Object.assign(jobsSpy<Opened['queues']>(spied), mill.jobs),
      sent: sentSpy<Opened['queues']>(spied),
      drain: (given) => driver.drain(given),
      advance: (duration, given) => driver.advance(duration, given),
      advanceTo: (time, given) => driver.advanceTo(time, given),
      failNext: (name, error = new Error('failNext')) => record.failNext(name, error),
      now: () => new Date(clock.now()),
      clock,
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** A mill without the types of an app. */
interface UntypedMill {
  readonly jobs: UntypedJobs
  worker(options: UntypedWorkerOptions): Worker
}

interface TestStore {
  readonly store: RecordingStore
  readonly storeFile: string | null
}

async function openStore(data: string | undefined, ports: VirtualPorts): Promise<TestStore> {
  const { memoryFile, openRecordingSqlite } = await import('../backends/sqlite/index.ts')
  const storeFile = data === undefined ? null : (await prepareDataDirectory(data)).file
  const store = await openRecordingSqlite({ file: storeFile ?? memoryFile, ports })
  return { store, storeFile }
}

function openOptions(
  { log = quietLogger, onNotice = nothing }: TestOptions,
  { ports, store }: { readonly ports: VirtualPorts; readonly store: RecordingStore },
): OpenOptions {
  return {
    backend: store.backend,
    ports,
    stage,
    log,
    allowPrivateWebhooks: false,
    onNotice: (notice) => {
      // A worker of a test waits until the test runs it.
      if (notice.kind !== 'worker_not_started') onNotice(notice)
    },
  }
}

function startingAt(now: Date | undefined): VirtualClockOptions {
  if (now === undefined) return {}
  const startAt = now instanceof Date ? now.getTime() : Number.NaN
  if (!Number.isNaN(startAt)) return { startAt }
  throw MillraceError.invalid([{ field: 'now', given: describeGiven(now), allowed: 'a Date' }])
}

/** Time passes while the app closes, because stopping workers wait for handlers that never end. */
function closedOnce(clock: VirtualClock, close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined
  const closeWithTime = async (): Promise<void> => {
    let isClosed = false
    const closing = close().finally(() => {
      isClosed = true
    })
    // The loop ends before the rejection can be handled.
    closing.catch(nothing)
    await clock.advance(0)
    while (!isClosed) await clock.advance('1s')
    await closing
  }
  return () => {
    closed ??= closeWithTime()
    return closed
  }
}
