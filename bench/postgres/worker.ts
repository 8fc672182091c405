/** A worker with 10 and with 100 handlers at once, on a queue that is full when it starts. */
import type { Row } from '../report.ts'
import { comparedRow } from './compared-row.ts'
import { type Comparison, measureRounds } from './comparison.ts'

export interface WorkerSize {
  readonly rounds: number
  /** A measurement ends after this many jobs or milliseconds. */
  readonly jobs: number
  readonly ms: number
}

type Rates = Record<10 | 100, number>

export function workerRows(
  comparison: Comparison,
  { rounds: count, jobs, ms }: WorkerSize,
): Promise<readonly Row[]> {
  return comparison.withLibraries({ database: 'worker' }, async (contenders) => {
    const rounds = await measureRounds(contenders, count, async (contender): Promise<Rates> => {
      const rate = async (concurrency: keyof Rates): Promise<number> => {
        await contender.askWorker({ kind: 'fill', waiting: jobs })
        await contender.vacuum()
        return contender.askWorker<number>({ kind: 'process', jobs, ms, concurrency })
      }
      return { 10: await rate(10), 100: await rate(100) }
    })
    const row = (concurrency: keyof Rates, bar: number): Row =>
      comparedRow({
        what: `worker with ${concurrency} handlers at once, full queue`,
        rounds: rounds.map((all) => all.map((rates) => rates[concurrency])),
        contenders,
        bar,
      })
    return [row(10, 0.9), row(100, 1)]
  })
}
