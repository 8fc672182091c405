/**
 * Finished jobs are forgotten when their time is over. There is no index for it, which every job would
 * pay for at its end: the sweeper walks through history instead, a short stretch at a time, round and
 * round, and is back at the same job long before a lifetime of days has passed.
 */

import { defaultQueueSettings } from '../../core/queue-settings.ts'
import { forgetJobSpending } from '../budgets/spending.ts'
import { arrayQuery, change, type Statement } from '../statements.ts'
import { filtered, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { forgetDetails } from './attempt-details.ts'

/** Jobs checked in one slice. */
const sliceRows = 500

/** A slice ends early when it has passed over this much: large payloads take time to skip. */
const sliceBytes = 1_000_000

/** When such a part of a slice was due, the next ones probably are too. */
const largePart = 0.25

const sql = {
  walk: arrayQuery<WalkedRow>(`
    SELECT number, queue, status, finished_at,
      octet_length(payload) + coalesce(octet_length(result), 0)
    FROM finished_job WHERE number > ? ORDER BY number LIMIT ${sliceRows}`),
}

const forgetJob: readonly Statement[] = [
  change('DELETE FROM finished_job WHERE number = ?'),
  change('DELETE FROM job_attempt WHERE number = ?'),
  change('DELETE FROM job_progress WHERE number = ?'),
  forgetJobSpending,
  ...forgetDetails,
]

type WalkedRow = readonly [
  number: number,
  queue: string,
  status: string,
  finishedAt: number,
  bytes: number,
]

export interface Forgotten {
  readonly changed: number
  /** The next stretch should be checked at once. */
  readonly more: boolean
}

/** Walks one stretch of history and removes what is due. */
export function* forgetFinishedJobs(tx: Transaction): Steps<Forgotten> {
  const { rows, position } = yield* nextStretch(tx)
  tx.memory.historyPosition = position
  const due = yield* filtered(rows, (row) => isDue(tx, row))
  for (const [number] of due) {
    for (const forget of forgetJob) yield* tx.run(forget, number)
  }
  if (due.length > 0) tx.wroteRow()
  const isMuch = due.length > 0 && due.length >= rows.length * largePart
  return { changed: due.length, more: isMuch && position > 0 }
}

function* nextStretch(view: View): Steps<{ rows: readonly WalkedRow[]; position: number }> {
  const rows = yield* view.all(sql.walk, view.memory.historyPosition)
  let bytes = 0
  for (const [index, row] of rows.entries()) {
    bytes += row[4]
    if (bytes > sliceBytes) return { rows: rows.slice(0, index + 1), position: row[0] }
  }
  const last = rows.at(-1)
  const isEnd = last === undefined || rows.length < sliceRows
  return { rows, position: isEnd ? 0 : last[0] }
}

/** A queue that was deleted has the default lifetimes. */
function* isDue(view: View, [, name, status, finishedAt]: WalkedRow): Steps<boolean> {
  const queue = yield* view.findQueue(name)
  const { completedMs, failedMs } = queue?.settings.history ?? defaultQueueSettings.history
  const lifetimeMs = status === 'completed' ? completedMs : failedMs
  return lifetimeMs !== null && finishedAt <= view.now - lifetimeMs
}
