/** Figures of the handlers of one queue: how many attempts ended in which way, and how long they took. */
import { durationBuckets } from './duration-buckets.ts'

/**
 * How an attempt ends. `lost`: its lease ended first. `refused`: it matched no contract or tier, and no
 * handler ran.
 */
export const attemptEndings = [
  'completed',
  'retried',
  'failed',
  'released',
  'cancelled',
  'lost',
  'refused',
] as const

export type AttemptEnding = (typeof attemptEndings)[number]

/** Those that count as an error of the handler. */
const errors: readonly AttemptEnding[] = ['retried', 'failed', 'lost', 'refused']

export interface DurationFigures {
  readonly count: number
  readonly msSum: number
  readonly msMax: number
  /** How many fell into each bucket of `core/duration-buckets.ts`; not cumulative. */
  readonly buckets: readonly number[]
}

export interface HandlerFigures {
  /** Attempts that ended, in whichever way. */
  readonly ended: number
  /** Those of them that ended in an error: retried, failed, lost or refused. */
  readonly failed: number
  readonly endings: Readonly<Record<AttemptEnding, number>>
  /** From the start of an attempt to its end. */
  readonly runs: DurationFigures
  /** From sending to the start of the first attempt. */
  readonly waits: DurationFigures
}

export const noDurations: DurationFigures = {
  count: 0,
  msSum: 0,
  msMax: 0,
  buckets: Array.from({ length: durationBuckets }, () => 0),
}

/** The rest follows from the endings. */
export function handlerFigures(
  endings: Readonly<Partial<Record<AttemptEnding, number>>>,
  runs: DurationFigures = noDurations,
  waits: DurationFigures = noDurations,
): HandlerFigures {
  const of = (ending: AttemptEnding): number => endings[ending] ?? 0
  const all: Record<AttemptEnding, number> = {
    completed: of('completed'),
    retried: of('retried'),
    failed: of('failed'),
    released: of('released'),
    cancelled: of('cancelled'),
    lost: of('lost'),
    refused: of('refused'),
  }
  return {
    ended: attemptEndings.reduce((sum, ending) => sum + all[ending], 0),
    failed: errors.reduce((sum, ending) => sum + all[ending], 0),
    endings: all,
    runs,
    waits,
  }
}

export const noHandlers: HandlerFigures = handlerFigures({})

export function addHandlers(one: HandlerFigures, other: HandlerFigures): HandlerFigures {
  return combined(one, other, (left, right) => left + right, Math.max)
}

/** What has been added since; the longest is that of the later figures. */
export function handlersSince(later: HandlerFigures, earlier: HandlerFigures): HandlerFigures {
  return combined(
    later,
    earlier,
    (left, right) => left - right,
    (left) => left,
  )
}

type Combine = (left: number, right: number) => number

function combined(
  one: HandlerFigures,
  other: HandlerFigures,
  counts: Combine,
  longest: Combine,
): HandlerFigures {
  const endings: Partial<Record<AttemptEnding, number>> = {}
  for (const ending of attemptEndings) {
    endings[ending] = counts(one.endings[ending], other.endings[ending])
  }
  const durations = (left: DurationFigures, right: DurationFigures): DurationFigures => ({
    count: counts(left.count, right.count),
    msSum: counts(left.msSum, right.msSum),
    msMax: longest(left.msMax, right.msMax),
    buckets: left.buckets.map((count, index) => counts(count, right.buckets[index] ?? 0)),
  })
  return handlerFigures(endings, durations(one.runs, other.runs), durations(one.waits, other.waits))
}
