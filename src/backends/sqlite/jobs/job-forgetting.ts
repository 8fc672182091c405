/**
 * Finished jobs are forgotten when their time is over. There is no index for it, which every job would
 * pay for at its end: the sweeper walks through history instead, a short stretch at a time, round and
 * round, and is back at the same job long before a lifetime of days has passed.
 */

import { defaultQueueSettings, type HistoryLifetime } from '../../../core/queue-settings.ts'
import { forgetJobSpending } from '../budgets/spending.ts'
import type { Session } from '../driver/session.ts'
import { arrayQuery, change } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
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
  forgetJob: change('DELETE FROM finished_job WHERE number = ?'),
  forgetAttempts: change('DELETE FROM job_attempt WHERE number = ?'),
  forgetProgress: change('DELETE FROM job_progress WHERE number = ?'),
}

type WalkedRow = readonly [
  number: number,
  queue: string,
  status: string,
  finishedAt: number,
  bytes: number,
]

/** The position of each connection's walk. */
const positions = new WeakMap<Session, number>()

export interface Forgotten {
  readonly changed: number
  /** The next stretch should be checked at once. */
  readonly more: boolean
}

/** Walks one stretch of history and removes what is due. */
export function forgetFinishedJobs(tx: StoreTransaction): Forgotten {
  const { session, now } = tx
  const { rows, position } = nextStretch(session)
  positions.set(session, position)
  const lifetimes = new Map<string, HistoryLifetime>()
  const due = rows.filter(([, queue, status, finishedAt]) => {
    const lifetime = lifetimes.get(queue) ?? lifetimeIn(session, queue)
    lifetimes.set(queue, lifetime)
    const lifetimeMs = status === 'completed' ? lifetime.completedMs : lifetime.failedMs
    return lifetimeMs !== null && finishedAt <= now - lifetimeMs
  })
  for (const [number] of due) {
    session.run(sql.forgetJob, number)
    session.run(sql.forgetAttempts, number)
    session.run(sql.forgetProgress, number)
    session.run(forgetJobSpending, number)
    for (const forget of forgetDetails) session.run(forget, number)
  }
  if (due.length > 0) tx.wroteRow()
  const isMuch = due.length > 0 && due.length >= rows.length * largePart
  return { changed: due.length, more: isMuch && position > 0 }
}

function nextStretch(session: Session): { rows: readonly WalkedRow[]; position: number } {
  const rows: WalkedRow[] = []
  let bytes = 0
  const from = positions.get(session) ?? 0
  for (const row of session.each(sql.walk, from)) {
    rows.push(row)
    bytes += row[4]
    if (bytes > sliceBytes) return { rows, position: row[0] }
  }
  const last = rows.at(-1)
  const isEnd = last === undefined || rows.length < sliceRows
  return { rows, position: isEnd ? 0 : last[0] }
}

/** A queue that was deleted has the default lifetimes. */
function lifetimeIn(session: Session, queue: string): HistoryLifetime {
  return session.queues.find(queue)?.settings.history ?? defaultQueueSettings.history
}
