/** A row with the rates of all libraries. The target concerns the first peer, graphile-worker. */
import { formatRate, median, type Row } from '../report.ts'
import type { Contender } from './contender.ts'

export interface Compared {
  readonly what: string
  /** The rates of each round, in the order of the contenders. */
  readonly rounds: readonly (readonly number[])[]
  readonly contenders: readonly Contender[]
  readonly bar: number
}

export function comparedRow({ what, rounds, contenders, bar }: Compared): Row {
  const rateOf = (index: number): string =>
    formatRate(median(rounds.map((rates) => rates[index] ?? Number.NaN)))
  const ratioTo = (index: number): number =>
    median(rounds.map((rates) => (rates[0] ?? Number.NaN) / (rates[index] ?? Number.NaN)))
  const peers = contenders.map(({ library }, index) => ({ library, index })).slice(1)
  const hasTarget = peers[0]?.library === 'graphile-worker'
  return {
    what,
    measured: rateOf(0),
    beside: peers
      .map(({ library, index }) => `${library} ${rateOf(index)}: ${times(ratioTo(index))}`)
      .join('; '),
    ...(hasTarget && {
      bar: `at least ${times(bar)} graphile-worker`,
      isMet: ratioTo(1) >= bar,
    }),
  }
}

function times(ratio: number): string {
  return `${Number(ratio.toFixed(ratio < 10 ? 2 : 0))} x`
}
