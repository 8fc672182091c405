/** Opens an app on a store and ports that a test controls. */
import { prepareDataDirectory } from '../app/data-directory.ts'
import { startTestMaintenance } from '../app/maintenance.ts'
import type { Mill, OpenOptions } from '../app/open.ts'
import { openApp } from '../app/open-app.ts'
import type { RecordingStore } from '../backends/sqlite/index.ts'
import type { App } from '../contracts/define-app.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { UntypedJobs } from '../jobs/app-jobs.ts'
import type { Logger } from '../observability/logger.ts'
import type { Worker } from '../worker/worker.ts'
import type { UntypedWorkerOptions } from '../worker/worker-options.ts'
import { nextChangeIn } from './next-change.ts'
import type { TestMill, TestOptions } from './open-for-test.ts'
import { jobsSpy, sentSpy } from './spies.ts'
import { TestDriver } from './test-driver.ts'
import { type TestWorkerOptions, testWorkerOptions } from './test-worker.ts'
import {
  type VirtualClock,
  type VirtualClockOptions,
  type VirtualPorts,
  virtualPorts,
} from './virtual-clock.ts'
import { WorkRecord } from './work-record.ts'

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

export async function openTestApp<const Opened extends App>(
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
    maintain: (setup) => {
      const nextChangeInMs = (): Promise<number> => nextChangeIn(store.backend, clock)
      return startTestMaintenance(setup, { monitoring, nextChangeInMs })
    },
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
