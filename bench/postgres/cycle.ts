/** The whole life of jobs: one process enqueues them one by one, while the worker of another one runs them. */
import { perSecond, type Row } from '../report.ts'
import { comparedRow } from './compared-row.ts'
import { type Comparison, measureRounds } from './comparison.ts'
import type { Enqueued } from './contender.child.ts'
import type { Contender } from './contender.ts'

export interface CycleSize {
  readonly rounds: number
  /** The producer ends after this many jobs or milliseconds. */
  readonly jobs: number
  readonly ms: number
}

const inFlight = 100

export function cycleRows(comparison: Comparison, size: CycleSize): Promise<readonly Row[]> {
  return comparison.withLibraries({ database: 'cycle', processes: 2 }, async (contenders) => {
    const rounds = await measureRounds(contenders, size.rounds, async (contender) => {
      await contender.askWorker({ kind: 'startWorker', concurrency: inFlight })
      // Opens the connections and prepares the statements.
      await rateOf(contender, { ...size, jobs: inFlight })
      const rate = await rateOf(contender, size)
      await contender.askWorker({ kind: 'stopWorker' })
      return rate
    })
    const what = `enqueue and run in two processes, ${inFlight} in flight, ${inFlight} handlers at once`
    return [comparedRow({ what, rounds, contenders, bar: 15 })]
  })
}

/** Until all of them are finished in the database. */
async function rateOf(contender: Contender, { jobs, ms }: CycleSize): Promise<number> {
  const startedMs = performance.now()
  const enqueue = { kind: 'enqueue', jobs, ms, inFlight, perCall: 1 } as const
  const { count } = await contender.askProducer<Enqueued>(enqueue)
  await contender.askWorker({ kind: 'starts', count })
  await contender.askProducer({ kind: 'finish', unfinished: 0 })
  return perSecond(count, performance.now() - startedMs)
}
