/** What traces cost: jobs that are enqueued and run with the OpenTelemetry SDK, and without it. */
import { join } from 'node:path'
import { BenchChild } from '../child-process.ts'
import { type Row, ratioRow } from '../report.ts'
import type { WorkerRequest } from './worker.child.ts'
import type { WorkerRatesSize } from './worker-rates.ts'

type Rates = Record<'traced' | 'plain', number>

export async function traceRows(
  folder: string,
  { rounds: count, batch }: WorkerRatesSize,
): Promise<readonly Row[]> {
  const open = (file: string): BenchChild<WorkerRequest> =>
    new BenchChild<WorkerRequest>(new URL(file, import.meta.url))
  const children = { traced: open('./traced-worker.child.ts'), plain: open('./worker.child.ts') }
  const rounds: Rates[] = []
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= count; round += 1) {
    const rates: Rates = { traced: 0, plain: 0 }
    for (const which of round % 2 === 0 ? inTurn : inTurn.toReversed()) {
      const data = join(folder, which)
      const request = { kind: 'process', data, count: batch, concurrency: 10 } as const
      rates[which] = await children[which].ask<number>(request)
    }
    if (round > 0) rounds.push(rates)
  }
  for (const which of inTurn) await children[which].end()
  const what = 'worker with 10 handlers at once, with traces (process and settle)'
  return [ratioRow(rounds, what, ['traced', 'plain'], undefined, 'without')]
}

const inTurn = ['traced', 'plain'] as const
