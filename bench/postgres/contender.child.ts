/** A process with one job library, on one database. The library is open only while it is measured. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { answerRequests } from '../child-process.ts'
import { perSecond } from '../report.ts'
import {
  type Aim,
  type BenchJob,
  type JobLibrary,
  type LibraryName,
  openLibrary,
} from './job-library.ts'
import { StartCounts } from './start-counts.ts'

export type ContenderRequest =
  | { readonly kind: 'open' | 'close' | 'stopWorker' | 'counts' }
  | ({ readonly kind: 'enqueue' } & Enqueue)
  /** Enqueues in bulk until this many jobs wait. */
  | { readonly kind: 'fill'; readonly waiting: number }
  | ({ readonly kind: 'process' } & Process)
  | { readonly kind: 'startWorker'; readonly concurrency: number }
  /** Waits until at most this many jobs are not finished. */
  | { readonly kind: 'finish'; readonly unfinished: number }
  | ({ readonly kind: 'steadily' } & Steadily)
  /** Waits until this many jobs were started since the last request. Returns their times, if latency is the aim. */
  | { readonly kind: 'starts'; readonly count: number }

/** Ends after this many jobs or milliseconds. */
interface Limits {
  readonly jobs: number
  readonly ms: number
}

export interface Enqueue extends Limits {
  readonly inFlight: number
  readonly perCall: number
}

export interface Process extends Limits {
  readonly concurrency: number
}

export interface Steadily {
  readonly count: number
  readonly perSecond: number
}

export interface Enqueued {
  readonly count: number
  readonly rate: number
}

/** Times are in milliseconds of the machine's clock, which all processes share. */
export interface Call {
  readonly job: number
  readonly calledMs: number
  readonly returnedMs: number
}

export interface Start {
  readonly job: number
  readonly startedMs: number
}

export interface Counts {
  readonly enqueued: number
  readonly started: number
  readonly repeated: number
  readonly unfinished: number
}

/** If nothing happens for so long, the benchmark fails instead of waiting forever. */
const patienceMs = 30_000

/** About 200 bytes of JSON, with the number. */
const body = 'j'.repeat(170)

const [name = 'millrace', url = '', aim = 'rate'] = process.argv.slice(2) as [
  LibraryName,
  string,
  Aim,
]
// As `npm start` does, also for threads. Users run JavaScript, but only Millrace is loaded from TypeScript here.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('../../node_modules/.cache/millrace', import.meta.url),
)
enableCompileCache(process.env['NODE_COMPILE_CACHE'])

const counts = new StartCounts()
let enqueued = 0
let opened: JobLibrary | undefined
let stopWorker = async (): Promise<void> => undefined
/** Jobs that were started since the worker was started, or since the last request for their times. */
let startCount = 0
let firstStartMs = 0
const starts: Start[] = []
let whenStarted = (): void => undefined

answerRequests(async (request: ContenderRequest) => {
  if (request.kind === 'open') {
    opened = await openLibrary(name, { url, aim })
    return undefined
  }
  if (opened === undefined) throw new Error(`${name} is not open.`)
  switch (request.kind) {
    case 'close':
      return opened.close()
    case 'enqueue':
      return enqueue(opened, request)
    case 'fill':
      return fill(opened, request.waiting)
    case 'process':
      return processJobs(opened, request)
    case 'startWorker':
      startCount = 0
      stopWorker = await opened.startWorker({ concurrency: request.concurrency, handle })
      return undefined
    case 'stopWorker':
      return stopWorker()
    case 'finish':
      return finish(opened, request.unfinished)
    case 'steadily':
      return enqueueSteadily(opened, request)
    case 'starts':
      await started(request.count)
      startCount = 0
      return starts.splice(0)
    case 'counts': {
      const unfinished = await opened.unfinished()
      return { enqueued, started: counts.started, repeated: counts.repeated, unfinished }
    }
  }
})

function handle({ number }: BenchJob): void {
  if (!counts.add(number)) return
  if (startCount === 0) firstStartMs = performance.now()
  startCount += 1
  if (aim === 'latency') starts.push({ job: number, startedMs: machineMs() })
  whenStarted()
}

function nextJob(): BenchJob {
  return { number: enqueued++, body }
}

async function enqueue(
  library: JobLibrary,
  { jobs, ms, inFlight, perCall }: Enqueue,
): Promise<Enqueued> {
  let count = 0
  const startedMs = performance.now()
  const producer = async (): Promise<void> => {
    while (count < jobs && performance.now() - startedMs < ms) {
      count += perCall
      if (perCall === 1) await library.enqueue(nextJob())
      else await library.enqueueMany(Array.from({ length: perCall }, nextJob))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, producer))
  return { count, rate: perSecond(count, performance.now() - startedMs) }
}

async function fill(library: JobLibrary, waiting: number): Promise<void> {
  let missing = waiting - (await library.unfinished())
  for (; missing > 0; missing -= 1_000) {
    await library.enqueueMany(Array.from({ length: Math.min(1_000, missing) }, nextJob))
  }
}

/**
 * Runs a worker until it has finished these jobs, or for this time; returns jobs per second. A worker that finishes
 * more of them is measured with all of them.
 */
async function processJobs(
  library: JobLibrary,
  { jobs, ms, concurrency }: Process,
): Promise<number> {
  const before = await library.unfinished()
  if (before < jobs) throw new Error(`Only ${before} jobs wait in ${name}.`)
  startCount = 0
  const stop = await library.startWorker({ concurrency, handle })
  await started(1)
  // The jobs in the database are not counted before, because that would slow down the worker.
  if (await started(jobs, ms)) await finish(library, before - jobs)
  const finished = before - (await library.unfinished())
  if (finished <= 0) throw new Error(`${name} has finished no job within ${ms} ms.`)
  const rate = perSecond(finished, performance.now() - firstStartMs)
  await stop()
  return rate
}

/** Resolves when this many jobs were started, or with false after the given time. Without a time, it fails then. */
async function started(count: number, ms?: number): Promise<boolean> {
  const deadlineMs = performance.now() + (ms ?? patienceMs)
  while (startCount < count) {
    const leftMs = deadlineMs - performance.now()
    if (leftMs <= 0 && ms !== undefined) return false
    if (leftMs <= 0) throw new Error(`${name} has started ${startCount} of ${count} jobs.`)
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, leftMs)
    whenStarted = () => {
      if (startCount >= count) resolve()
    }
    await promise
    clearTimeout(timer)
  }
  whenStarted = () => undefined
  return true
}

async function finish(library: JobLibrary, unfinished: number): Promise<void> {
  let lowest = Number.POSITIVE_INFINITY
  for (let changedMs = performance.now(); ; ) {
    const left = await library.unfinished()
    if (left <= unfinished) return
    if (left < lowest) changedMs = performance.now()
    lowest = Math.min(lowest, left)
    if (performance.now() - changedMs > patienceMs) {
      throw new Error(`${name} has ${left} jobs that it does not finish.`)
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** At fixed times, so that slow calls do not reduce the load. */
async function enqueueSteadily(
  library: JobLibrary,
  { count, perSecond: rate }: Steadily,
): Promise<readonly Call[]> {
  const startedMs = performance.now()
  const calls: Promise<Call>[] = []
  while (calls.length < count) {
    const dueMs = startedMs + (calls.length * 1_000) / rate
    const waitMs = dueMs - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    else calls.push(timedEnqueue(library))
  }
  return Promise.all(calls)
}

async function timedEnqueue(library: JobLibrary): Promise<Call> {
  const job = nextJob()
  const calledMs = machineMs()
  await library.enqueue(job)
  return { job: job.number, calledMs, returnedMs: machineMs() }
}

function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000
}
