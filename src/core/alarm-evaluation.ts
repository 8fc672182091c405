/**
 * From the numbers of the latest periods to the state of an alarm, by CloudWatch's rules: M out of N,
 * a range that is larger than N so that single gaps do not matter, and a say for what is missing only
 * where there is too little of what is not.
 */
import type { AlarmComparison, AlarmCondition, AlarmState, MissingData } from './alarm-rule.ts'

export interface Datapoint {
  /** When its period began. */
  readonly at: number
  /** Null: nothing is known about this period. */
  readonly value: number | null
}

export interface Verdict {
  readonly state: AlarmState
  readonly reason: string
}

/**
 * How many periods more than N are read. CloudWatch documents that there are some, and its examples
 * have two.
 */
const spareRange = 2

/** How many periods an evaluation asks for. */
export function evaluationRange({
  evaluationPeriods,
}: Pick<AlarmCondition, 'evaluationPeriods'>): number {
  return evaluationPeriods + spareRange
}

/**
 * @param range the latest periods, oldest first, as many as `evaluationRange` says
 * @param current the state that the alarm is in
 */
export function evaluateAlarm(
  condition: AlarmCondition,
  range: readonly Datapoint[],
  current: AlarmState,
): Verdict {
  const { evaluationPeriods } = condition
  const known = range.filter(isKnown)
  if (known.length < evaluationPeriods) return judgeGaps(condition, range, current)
  const latest = known.slice(-evaluationPeriods)
  const breaching = latest.filter(({ value }) => isBeyond(value, condition)).length
  const state = breaching >= condition.datapointsToAlarm ? 'ALARM' : 'OK'
  return { state, reason: reasonOf(condition, { points: latest, breaching, missing: 0 }) }
}

/** There are fewer numbers than periods: what is missing is filled in, as rarely as possible. */
function judgeGaps(
  condition: AlarmCondition,
  range: readonly Datapoint[],
  current: AlarmState,
): Verdict {
  const { evaluationPeriods, datapointsToAlarm, missingData } = condition
  const points = range.filter(isKnown)
  const breaching = points.filter(({ value }) => isBeyond(value, condition)).length
  const missing = evaluationPeriods - points.length
  const verdict = (state: AlarmState): Verdict => ({
    state,
    reason: reasonOf(condition, { points, breaching, missing }),
  })
  const filled = missingData === 'breaching' ? breaching + missing : breaching
  if (filled >= datapointsToAlarm) return verdict('ALARM')
  if (missingData === 'breaching' || missingData === 'not_breaching') return verdict('OK')
  // From here on missing periods are not filled in. One good number is enough for OK.
  if (breaching < points.length) return verdict('OK')
  if (missingData === 'ignore') return verdict(current)
  if (points.length === 0) return verdict('INSUFFICIENT_DATA')
  return verdict(isOldEnough(condition, range) ? 'ALARM' : 'OK')
}

/**
 * All numbers there are lie beyond the threshold, though they are too few. While the first of them is
 * young the next one may still be good; later, nothing speaks against an alarm.
 */
function isOldEnough({ datapointsToAlarm }: AlarmCondition, range: readonly Datapoint[]): boolean {
  return range.length - range.findIndex(isKnown) >= datapointsToAlarm
}

interface KnownDatapoint extends Datapoint {
  readonly value: number
}

function isKnown(point: Datapoint): point is KnownDatapoint {
  return point.value !== null
}

export function isBeyond(
  value: number,
  { comparison, threshold }: Pick<AlarmCondition, 'comparison' | 'threshold'>,
): boolean {
  switch (comparison) {
    case 'above':
      return value > threshold
    case 'at_or_above':
      return value >= threshold
    case 'below':
      return value < threshold
    case 'at_or_below':
      return value <= threshold
  }
}

export const comparisonWords: Readonly<Record<AlarmComparison, string>> = {
  above: 'above',
  at_or_above: 'at or above',
  below: 'below',
  at_or_below: 'at or below',
}

interface Findings {
  readonly points: readonly KnownDatapoint[]
  readonly breaching: number
  readonly missing: number
}

/** So many numbers are quoted at most. */
const quotedMax = 5

function reasonOf(condition: AlarmCondition, findings: Findings): string {
  const { comparison, threshold, datapointsToAlarm, evaluationPeriods, missingData } = condition
  const { points, breaching, missing } = findings
  const span = evaluationPeriods === 1 ? 'period' : `${evaluationPeriods} periods`
  const [latest, ...others] = points.map(({ value }) => shortNumber(value)).reverse()
  if (latest === undefined) return `No data for the last ${span}${takenAs[missingData]}.`
  const limit = `${comparisonWords[comparison]} ${shortNumber(threshold)}`
  const beyond = breaching === 0 ? `not ${limit}` : limit
  if (evaluationPeriods === 1) return `The latest number is ${latest}, which is ${beyond}.`
  const gaps = missing === 0 ? '' : `; ${isOrAre(missing)} missing${takenAs[missingData]}`
  const needed = `an alarm needs ${datapointsToAlarm} of ${evaluationPeriods}`
  if (others.length === 0) {
    return `Of the last ${span} one has a number, ${latest}, which is ${beyond}${gaps}; ${needed}.`
  }
  const quoted = [latest, ...others.slice(0, quotedMax - 1)].join(', ')
  const rest = points.length > quotedMax ? ', …' : ''
  return `Of the latest ${points.length} numbers ${isOrAre(breaching)} ${limit} (newest first: ${quoted}${rest})${gaps}; ${needed}.`
}

/** What becomes of periods without a number. */
const takenAs: Readonly<Record<MissingData, string>> = {
  missing: '',
  ignore: ', and ignored',
  breaching: ', taken as beyond the threshold',
  not_breaching: ', taken as within the threshold',
}

function isOrAre(count: number): string {
  if (count === 0) return 'none is'
  return count === 1 ? '1 is' : `${count} are`
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(6)))
}
