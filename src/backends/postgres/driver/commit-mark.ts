/**
 * How a process knows what became of a commit whose answer was lost. Commits that follow each other are a
 * series with rising, even numbers, and each writes its number down. A process that does not know writes the
 * number after it, unless the commit has done so first: from then on, it never will.
 *
 * The same statement makes sure that the transaction has run with the queues as they are: it fails if their
 * version is another one by now.
 */
import { change, query } from '../../../engine/statements.ts'

/** Of a series that has committed nothing for this long. It starts again when it does. */
const keptMs = 86_400_000

/** Values: series, version of the queues, number, time. */
export const markSql = `
  INSERT INTO commit_mark (series, number, at)
  SELECT CAST(? AS BIGINT), CASE WHEN queues_version = ? THEN CAST(? AS BIGINT) END, CAST(? AS BIGINT)
  FROM store
  ON CONFLICT (series) DO UPDATE SET
    number = CASE WHEN excluded.number > commit_mark.number THEN excluded.number END,
    at = excluded.at`

export const commitMarks = {
  write: change(markSql),
  /** The number that has won. */
  settle: query<{ number: number }>(`
    INSERT INTO commit_mark (series, number, at) VALUES (?, ?, ?)
    ON CONFLICT (series) DO UPDATE SET
      number = CASE WHEN excluded.number - 1 > commit_mark.number THEN excluded.number
        ELSE commit_mark.number END
    RETURNING number`),
  remove: change('DELETE FROM commit_mark WHERE series = ? OR at < ?'),
}

/** One commit of a series. */
export interface CommitMark {
  readonly series: number
  readonly number: number
}

/** Commits that follow each other, and the row of counters that they add to. */
export class CommitSeries {
  readonly series: number
  readonly slot: number
  #number = 0

  constructor(series: number, slot: number) {
    this.series = series
    this.slot = slot
  }

  get isUsed(): boolean {
    return this.#number > 0
  }

  next(): CommitMark {
    this.#number += 2
    return { series: this.series, number: this.#number }
  }
}

/** Marks from before this time can go. */
export function forgottenBefore(now: number): number {
  return now - keptMs
}
