/** The app of the job benchmarks: one queue, one type, and a validated payload of 200 bytes. */
import { z } from 'zod'
import {
  type App,
  batch,
  defineApp,
  type JobOptions,
  type JobsQueue,
  jobs,
  type Mill,
  open,
} from '../../src/index.ts'
import { perSecond } from '../report.ts'

const Payload = z.string().max(1_000)

type BenchApp = App<{ bench: JobsQueue<{ OCR: typeof Payload }> }>

export const app: BenchApp = defineApp('bench', {
  queues: { bench: jobs({ types: { OCR: Payload }, name: 'bench' }) },
})

/** 200 bytes of JSON. */
export const payload: string = 'j'.repeat(198)

export type BenchMill = Mill<BenchApp>

export function openBench(data: string): Promise<BenchMill> {
  return open(app, { data })
}

/** Enqueues jobs one by one, with a fixed number in flight. */
export async function enqueueSingles(
  mill: BenchMill,
  count: number,
  inFlight: number,
): Promise<void> {
  let left = count
  const producer = async (): Promise<void> => {
    while (left-- > 0) await mill.jobs.enqueue('bench', 'OCR', payload, { owner: 'user-1' })
  }
  await Promise.all(Array.from({ length: inFlight }, producer))
}

/** 1,000 per call. */
export async function enqueueBulk(
  mill: BenchMill,
  count: number,
  options: Pick<JobOptions, 'delay'> = {},
): Promise<void> {
  const entry = { type: 'OCR', payload, owner: 'user-1', ...options } as const
  const entries = Array.from({ length: 1_000 }, () => entry)
  for (let done = 0; done < count; done += entries.length) {
    await mill.jobs.enqueueMany('bench', entries)
  }
}

/** Enqueues jobs one by one; returns jobs per second. */
export function timedEnqueue(mill: BenchMill, count: number, inFlight: number): Promise<number> {
  return timed(count, () => enqueueSingles(mill, count, inFlight))
}

/** Returns the rate per second. */
export async function timed(count: number, run: () => Promise<void>): Promise<number> {
  const startedMs = performance.now()
  await run()
  return perSecond(count, performance.now() - startedMs)
}

/** Waits until this many jobs were completed in the store, and resolves to the number. */
export async function untilCompleted(mill: BenchMill, count: number): Promise<number> {
  for (;;) {
    const { acknowledged } = (await mill.queues.bench.statistics()).totals
    if (acknowledged >= count) return acknowledged
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** The load for the latency and memory measurements. */
export const jobsPerSecond = 500

/** The time starts before the call, so it includes the commit of the enqueue. */
export async function enqueueTimed(mill: BenchMill): Promise<void> {
  const timed = String(process.hrtime.bigint()).padEnd(payload.length)
  await mill.jobs.enqueue('bench', 'OCR', timed, { owner: 'user-1' })
}

/** At fixed times, so that slow responses do not reduce the load. */
export async function enqueueSteadily(mill: BenchMill, count: number): Promise<void> {
  const startedMs = performance.now()
  const pending: Promise<void>[] = []
  while (pending.length < count) {
    const due = Math.min(count, ((performance.now() - startedMs) / 1_000) * jobsPerSecond)
    while (pending.length < due) pending.push(enqueueTimed(mill))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(pending)
}

/**
 * Runs a worker on a full queue until this many jobs are done; returns jobs per second. With a `batchSize`,
 * the handler gets batches.
 */
export async function processJobs(
  mill: BenchMill,
  count: number,
  concurrency: number,
  batchSize?: number,
): Promise<number> {
  const before = (await mill.queues.bench.statistics()).totals.acknowledged
  const handled = Promise.withResolvers<void>()
  let started = 0
  const handle = (jobs: number): void => {
    started += jobs
    if (started === count) handled.resolve()
  }
  const worker = mill.worker({
    poll: ['bench'],
    concurrency,
    handle: {
      OCR:
        batchSize === undefined
          ? () => handle(1)
          : batch({ size: batchSize }, (items) => handle(items.length)),
    },
  })
  const startedMs = performance.now()
  worker.start()
  // Read the counters only now, so that the worker is not slowed down.
  await handled.promise
  const done = await untilCompleted(mill, before + count)
  const rate = perSecond(done - before, performance.now() - startedMs)
  await worker.stop()
  return rate
}
