/** How soon a worker in another process begins with a job. */
import { BenchChild } from '../child-process.ts'
import { formatMs, median, percentile, type Row } from '../report.ts'
import { enqueueSteadily, enqueueTimed, jobsPerSecond, openBench, untilCompleted } from './app.ts'
import type { WorkerRequest } from './worker.child.ts'

export interface PickupSize {
  /** Jobs one at a time, when nothing else happens. */
  readonly idle: number
  readonly loadSeconds: number
}

export async function pickupRows(data: string, size: PickupSize): Promise<readonly Row[]> {
  const mill = await openBench(data)
  const child = new BenchChild<WorkerRequest>(new URL('./worker.child.ts', import.meta.url))
  await child.ask({ kind: 'work', data, concurrency: 10 })
  const idle: number[] = []
  // The first ones warm both processes up.
  for (let sample = -20; sample < size.idle; sample += 1) {
    await untilCompleted(mill, sample + 20)
    // Nothing is going on any more: the worker has settled the last job and found the queue empty.
    await new Promise((resolve) => setTimeout(resolve, 10))
    await enqueueTimed(mill)
    const [pickup] = await child.ask<number[]>({ kind: 'pickups', count: 1 })
    if (sample >= 0 && pickup !== undefined) idle.push(pickup)
  }
  const count = jobsPerSecond * size.loadSeconds
  await enqueueSteadily(mill, count)
  const loaded = await child.ask<number[]>({ kind: 'pickups', count })
  await child.end()
  await mill.close()
  return [
    latencyRow('pickup by an idle worker in another process, p50', idle, 0.5, 5),
    latencyRow('pickup by an idle worker in another process, p99', idle, 0.99, 20),
    latencyRow(`pickup at ${jobsPerSecond} jobs/s, p99`, loaded, 0.99, 10),
  ]
}

function latencyRow(what: string, times: readonly number[], share: number, barMs: number): Row {
  const measured = percentile(times, share)
  return {
    what,
    measured: `${formatMs(measured)} (median ${formatMs(median(times))})`,
    bar: `under ${barMs} ms`,
    isMet: measured < barMs,
  }
}
