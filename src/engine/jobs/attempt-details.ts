/** What is kept of an attempt besides its end: why it failed, and the lines that its handler has logged. */

import type { JobLogLine } from '../../backends/job-store.ts'
import type { Failure } from '../../core/failure.ts'
import type { LogLine } from '../../core/log-line.ts'
import { change, orReplace, query, type Statement } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const sql = {
  addFailure: change(`
    INSERT INTO job_failure (number, attempt, failure) VALUES (?, ?, ?)
    ${orReplace('number, attempt', 'failure')}`),
  failures: query<{ attempt: number; failure: string }>(
    'SELECT attempt, failure FROM job_failure WHERE number = ?',
  ),
  dropOlderLogs: change('DELETE FROM job_log WHERE number = ? AND attempt = ? AND token <> ?'),
  addLogs: change(`
    INSERT INTO job_log (number, attempt, part, token, lines)
    SELECT ?, ?, coalesce(max(part), 0) + 1, ?, ? FROM job_log WHERE number = ? AND attempt = ?`),
  logs: query<{ attempt: number; lines: string }>(
    'SELECT attempt, lines FROM job_log WHERE number = ? ORDER BY attempt, part',
  ),
}

/** Removes the details of a job that is forgotten. */
export const forgetDetails: readonly Statement[] = [
  change('DELETE FROM job_failure WHERE number = ?'),
  change('DELETE FROM job_log WHERE number = ?'),
]

export interface NumberedAttempt {
  readonly sequence: number
  readonly receive_count: number
}

export function* storeFailure(
  tx: Transaction,
  row: NumberedAttempt,
  failure: Failure,
): Steps<void> {
  yield* tx.run(sql.addFailure, row.sequence, row.receive_count, JSON.stringify(failure))
}

export function* readFailures(view: View, number: number): Steps<ReadonlyMap<number, Failure>> {
  const rows = yield* view.all(sql.failures, number)
  return new Map(rows.map(({ attempt, failure }) => [attempt, JSON.parse(failure) as Failure]))
}

/**
 * Adds lines to an attempt. An attempt that was released runs again under its number; only the lines of its
 * latest run stay, so that a job which is released again and again does not grow.
 */
export function* storeLogs(
  tx: Transaction,
  { sequence, receive_count, token }: NumberedAttempt & { readonly token: number },
  lines: readonly LogLine[],
): Steps<void> {
  if (lines.length === 0) return
  yield* tx.run(sql.dropOlderLogs, sequence, receive_count, token)
  const key = [sequence, receive_count] as const
  yield* tx.run(sql.addLogs, ...key, token, JSON.stringify(lines), ...key)
  tx.wroteRow()
}

export function* readLogs(view: View, id: string): Steps<readonly JobLogLine[]> {
  const number = view.messageIds.sequenceOf(id)
  if (number === undefined) return []
  return (yield* view.all(sql.logs, number)).flatMap(({ attempt, lines }) => {
    const logged: readonly LogLine[] = JSON.parse(lines)
    return logged.map((line) => ({ attempt, ...line }))
  })
}
