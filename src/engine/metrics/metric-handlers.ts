/** Figures of handlers, by queue: their totals, and how these are stored in few bytes. */

import { durationBuckets } from '../../core/duration-buckets.ts'
import {
  type AttemptEnding,
  addHandlers,
  attemptEndings,
  type DurationFigures,
  type HandlerFigures,
  handlerFigures,
  noHandlers,
} from '../../core/handler-figures.ts'
import type { Queue } from '../queues/queue.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'

const sql = {
  read: query<{ total: string }>('SELECT total FROM metric_handlers WHERE queue = ?'),
  write: change(`
    INSERT INTO metric_handlers (queue, total) VALUES (?, ?)
    ON CONFLICT (queue) DO UPDATE SET total = excluded.total`),
}

export function* addToHandlers(
  tx: Transaction,
  queue: Queue,
  figures: HandlerFigures,
): Steps<void> {
  yield* tx.lock(`handlers:${queue.id}`)
  const before = (yield* tx.one(sql.read, queue.id))?.total
  const total = before === undefined ? figures : addHandlers(decodeHandlers(before), figures)
  yield* tx.run(sql.write, queue.id, encodeHandlers(total))
  tx.wroteRow()
}

/** Endings, then runs, then waits: a number and an array each, without zeros at the end. */
type Stored = readonly [readonly number[], StoredDurations, StoredDurations]
type StoredDurations = readonly [sum: number, max: number, buckets: readonly number[]]

export function encodeHandlers({ endings, runs, waits }: HandlerFigures): string {
  const counts = attemptEndings.map((ending) => endings[ending])
  const stored: Stored = [counts, encodeDurations(runs), encodeDurations(waits)]
  return JSON.stringify(stored)
}

export function decodeHandlers(text: string | null): HandlerFigures {
  if (text === null) return noHandlers
  const [counts, runs, waits]: Stored = JSON.parse(text)
  const endings: Partial<Record<AttemptEnding, number>> = {}
  for (const [index, ending] of attemptEndings.entries()) endings[ending] = counts[index] ?? 0
  return handlerFigures(endings, decodeDurations(runs), decodeDurations(waits))
}

function encodeDurations({ msSum, msMax, buckets }: DurationFigures): StoredDurations {
  const used = buckets.slice(0, buckets.findLastIndex((count) => count > 0) + 1)
  return [rounded(msSum), rounded(msMax), used]
}

function decodeDurations([msSum, msMax, used]: StoredDurations): DurationFigures {
  const buckets = Array.from({ length: durationBuckets }, (_, index) => used[index] ?? 0)
  const count = buckets.reduce((sum, one) => sum + one, 0)
  return { count, msSum, msMax, buckets }
}

/** To the microsecond, which is finer than handlers are measured. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
