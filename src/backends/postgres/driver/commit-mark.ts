/**
 * The last statement of a transaction writes its commit down, for two reasons.
 *
 * A process must know what became of a commit whose answer was lost. Commits that follow each other are a
 * series with rising, even numbers. A process that does not know writes the number after it, unless the
 * commit has written its own first: from then on, it never will.
 *
 * A transaction must have run with the queues as they are. What changes them raises the version in the marks
 * of all series: it waits for transactions that have written theirs, and those that come later fail, and run
 * again.
 */
import { change, type Query, query, type Statement } from '../../../engine/statements.ts'

/** How long the mark of a series is kept that commits nothing. It is made again when it is needed. */
const keptMs = 86_400_000

/**
 * Fails if there is no mark, or if its version is another one. Values: number, version, number, time, series.
 */
export const markingSql = `marked AS (
    UPDATE commit_mark SET
      number = CASE WHEN number < CAST(? AS BIGINT) AND version = ? THEN CAST(? AS BIGINT) END, at = ?
    WHERE series = ?
    RETURNING 1
  )
  SELECT 1 / count(*)`

interface CommitMarks {
  readonly create: Statement
  readonly write: Statement
  readonly raiseVersions: Statement
  /** The number that has won. */
  readonly settle: Query<{ number: number }>
  readonly remove: Statement
}

export const commitMarks: CommitMarks = {
  // Waits for what changes the queues.
  create: change(`
    INSERT INTO commit_mark (series, number, version, at)
    SELECT CAST(? AS BIGINT), 0, queues_version, CAST(? AS BIGINT) FROM store FOR SHARE
    ON CONFLICT (series) DO UPDATE SET version = excluded.version`),
  write: change(`WITH ${markingSql} FROM marked`),
  raiseVersions: change('UPDATE commit_mark SET version = version + 1'),
  settle: query<{ number: number }>(`
    UPDATE commit_mark SET number = CASE WHEN number < ? THEN CAST(? AS BIGINT) + 1 ELSE number END
    WHERE series = ?
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
  /** Whether there is a mark, as far as is known. */
  hasMark = false
  #number = 0

  constructor(series: number, slot: number) {
    this.series = series
    this.slot = slot
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
