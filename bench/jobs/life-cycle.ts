/** The whole life of jobs: enqueued one by one here, claimed and completed by a worker in another process. */
import { join } from 'node:path'
import { BenchChild } from '../child-process.ts'
import { RawStore } from '../raw-sqlite.ts'
import { formatRate, median, perSecond, type Row, ratioRow } from '../report.ts'
import { enqueueSingles, openBench, untilCompleted } from './app.ts'
import type { WorkerRequest } from './worker.child.ts'

export interface LifeCycleSize {
  readonly rounds: number
  /** Jobs per round with 100 in flight; fewer otherwise. */
  readonly batch: number
}

export async function lifeCycleRows(folder: string, size: LifeCycleSize): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (const inFlight of [1, 10, 100]) {
    const rounds = await measure(folder, inFlight, size)
    const what = `enqueue, claim, complete in two processes, ${inFlight} in flight`
    if (inFlight === 100) {
      rows.push(ratioRow(rounds, what, ['cycle', 'claim'], 0.25, 'raw claim + delete'))
    } else {
      rows.push({ what, measured: formatRate(median(rounds.map(({ cycle }) => cycle))) })
    }
  }
  return rows
}

interface Round {
  readonly claim: number
  readonly cycle: number
}

async function measure(
  folder: string,
  inFlight: number,
  { rounds, batch }: LifeCycleSize,
): Promise<readonly Round[]> {
  const data = join(folder, `cycle-${inFlight}`)
  const count = Math.max(100, (batch * inFlight) / 100)
  const raw = new RawStore(join(folder, `raw-${inFlight}.db`))
  const mill = await openBench(data)
  const child = new BenchChild<WorkerRequest>(new URL('./worker.child.ts', import.meta.url))
  await child.ask({ kind: 'work', data, concurrency: inFlight })
  const measured: Round[] = []
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    raw.insert(batch)
    const claim = raw.claimAndDelete(batch)
    const startedMs = performance.now()
    await enqueueSingles(mill, count, inFlight)
    await untilCompleted(mill, (round + 1) * count)
    const cycle = perSecond(count, performance.now() - startedMs)
    if (round > 0) measured.push({ claim, cycle })
  }
  await child.end()
  await mill.close()
  raw.close()
  return measured
}
