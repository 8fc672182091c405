/** How soon a worker in another process starts a job, compared with the latency of the disk. */
import { join } from 'node:path'
import { BenchChild } from '../child-process.ts'
import { commitBytes, DiskProbe } from '../disk-probe.ts'
import { formatMs, median, percentile, type Row } from '../report.ts'
import { enqueueSteadily, enqueueTimed, jobsPerSecond, openBench, untilCompleted } from './app.ts'
import type { WorkerRequest } from './worker.child.ts'

export interface PickupSize {
  /** Jobs one at a time, on an idle system. */
  readonly idle: number
  readonly loadSeconds: number
}

/** The milliseconds of each pickup, and of each bare write between them. */
interface Times {
  readonly pickups: number[]
  readonly disk: number[]
}

export async function pickupRows(folder: string, size: PickupSize): Promise<readonly Row[]> {
  const data = join(folder, 'pickup')
  const mill = await openBench(data)
  const probe = new DiskProbe(join(folder, 'probe'))
  const child = new BenchChild<WorkerRequest>(new URL('./worker.child.ts', import.meta.url))
  await child.ask({ kind: 'work', data, concurrency: 10 })
  const idle: Times = { pickups: [], disk: [] }
  // The first ones are a warm-up for both processes.
  for (let sample = -20; sample < size.idle; sample += 1) {
    await untilCompleted(mill, sample + 20)
    const disk = probe.measure()
    // The system is idle: the worker has settled the last job and found the queue empty.
    await new Promise((resolve) => setTimeout(resolve, 10))
    await enqueueTimed(mill)
    const [pickup = Number.NaN] = await child.ask<number[]>({ kind: 'pickups', count: 1 })
    if (sample < 0) continue
    idle.pickups.push(pickup)
    idle.disk.push(disk)
  }
  const loaded: Times = { pickups: [], disk: [] }
  for (let second = 0; second < size.loadSeconds; second += 1) {
    await enqueueSteadily(mill, jobsPerSecond)
    const pickups = await child.ask<number[]>({ kind: 'pickups', count: jobsPerSecond })
    loaded.pickups.push(...pickups)
    // Not during the load, because they would slow each other down.
    loaded.disk.push(...(await probeSteadily(probe, jobsPerSecond / 2)))
  }
  await child.end()
  await mill.close()
  probe.close()
  const idleWhat = 'pickup by an idle worker in another process'
  return [
    latencyRow(`${idleWhat}, p50`, idle, 0.5, 1.8),
    latencyRow(`${idleWhat}, p99`, idle, 0.99, 20),
    latencyRow(`pickup at ${jobsPerSecond} jobs/s, p99`, loaded, 0.99, 8),
  ]
}

/** At the same rate as jobs are enqueued; the milliseconds of each. */
async function probeSteadily(probe: DiskProbe, count: number): Promise<readonly number[]> {
  const times: number[] = []
  const startedMs = performance.now()
  while (times.length < count) {
    if (performance.now() - startedMs >= (times.length / jobsPerSecond) * 1_000) {
      times.push(probe.measure())
    } else {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  return times
}

function latencyRow(what: string, times: Times, share: number, barMs: number): Row {
  const measured = percentile(times.pickups, share)
  const kilobytes = Math.round(commitBytes / 1_000)
  return {
    what,
    measured: `${formatMs(measured)} (median ${formatMs(median(times.pickups))})`,
    beside: `disk, ${kilobytes} kB and sync: ${formatMs(percentile(times.disk, share))} (median ${formatMs(median(times.disk))})`,
    bar: `at most ${barMs} ms`,
    isMet: measured <= barMs,
  }
}
