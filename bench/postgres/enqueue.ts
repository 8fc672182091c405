/** Enqueueing one by one, with many and with one call in flight, and in bulk. */
import type { Row } from '../report.ts'
import { comparedRow } from './compared-row.ts'
import { type Comparison, measureRounds } from './comparison.ts'
import { warmEnqueue } from './warm-enqueue.ts'

export interface EnqueueSize {
  readonly rounds: number
  /** A measurement ends after this many jobs or milliseconds. */
  readonly jobs: number
  readonly ms: number
}

const loads = {
  many: { inFlight: 100, perCall: 1 },
  one: { inFlight: 1, perCall: 1 },
  bulk: { inFlight: 1, perCall: 1_000 },
} as const

type Rates = Record<keyof typeof loads, number>

export function enqueueRows(
  comparison: Comparison,
  { rounds: count, jobs, ms }: EnqueueSize,
): Promise<readonly Row[]> {
  return comparison.withLibraries({ database: 'enqueue' }, async (contenders) => {
    const rounds = await measureRounds(contenders, count, async (contender): Promise<Rates> => {
      const rate = async (load: keyof Rates): Promise<number> =>
        (await warmEnqueue(contender, { ...loads[load], jobs, ms })).rate
      return { many: await rate('many'), one: await rate('one'), bulk: await rate('bulk') }
    })
    const row = (what: string, load: keyof Rates, bar: number): Row =>
      comparedRow({
        what,
        rounds: rounds.map((all) => all.map((rates) => rates[load])),
        contenders,
        bar,
      })
    return [
      row('enqueue one by one, 100 in flight', 'many', 25),
      row('enqueue one by one, 1 in flight', 'one', 1.3),
      row('enqueue 1,000 a call, 1 call in flight', 'bulk', 2),
    ]
  })
}
