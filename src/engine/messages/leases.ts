/** Reads what a receipt names now; changes nothing. */

import type { Delivery, LeaseRefusal, LeaseState, LeaseStates } from '../../backends/backend.ts'
import type { Receipt } from '../../core/receipt.ts'
import { decodeDetails } from '../jobs/job-details.ts'
import type { Queue } from '../queues/queue.ts'
import { forUpdate, oneOf, query } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { isTransaction } from '../transaction.ts'
import type { ContentRow } from './content-row.ts'
import { expiryOf, isRunning } from './expiry.ts'
import { deliveryFromRow, leased, type MessageRow, messageColumns } from './message-rows.ts'

const find = `SELECT ${messageColumns} FROM message WHERE sequence = ?`
const findMessage = query<MessageRow>(find)
const takeMessage = query<MessageRow>(`${find} ${forUpdate}`)
const findAll = `SELECT ${messageColumns} FROM message WHERE ${oneOf('sequence')}`
const findMessages = query<MessageRow>(findAll)
// In one order, so that no two transactions wait for each other.
const takeMessages = query<MessageRow>(`${findAll} ORDER BY sequence ${forUpdate}`)

/** Whether each lease could be settled now, and why not. */
export function* readLeaseStates(view: View, request: LeaseStates): Steps<readonly LeaseState[]> {
  const queue = yield* view.queue(request.queue)
  const receipts = request.receipts.map((text) => receiptFor(view, queue, text))
  const rows = yield* findRows(view, queue, receipts)
  return receipts.map((receipt) =>
    // A receipt of a queue that was deleted and created again: its message went with the old one.
    receipt === undefined
      ? 'gone'
      : (leaseRefusal(view, rows.get(receipt.sequence), receipt) ?? 'live'),
  )
}

/** The deliveries of live leases, with the times of the latest extension. */
export function* readLeases(view: View, request: LeaseStates): Steps<readonly (Delivery | null)[]> {
  const queue = yield* view.queue(request.queue)
  return yield* inTurn(request.receipts, function* (text) {
    const receipt = receiptFor(view, queue, text)
    if (receipt === undefined) return null
    const row = yield* findRow(view, queue, receipt)
    if (row === undefined || leaseRefusal(view, row, receipt) !== undefined) return null
    return yield* deliveryFromRow(row, view, {
      queueId: queue.id,
      token: row.token,
      leasedAt: row.leased_at,
      leaseExpiresAt: row.held_until ?? row.due_at,
      receiveCount: row.receive_count,
      firstReceivedAt: row.first_received_at,
    })
  })
}

export function hasUsedUpReceives(
  queue: Queue,
  row: Pick<ContentRow, 'job' | 'receive_count'>,
): boolean {
  const { deadLetter } = queue.settings
  // A job brings its own number of attempts.
  if (row.job !== null) {
    return row.receive_count > 0 && row.receive_count >= decodeDetails(row.job).max
  }
  return deadLetter !== null && row.receive_count >= deadLetter.maxReceives
}

/** Why the lease of a receipt did not match, after a statement that compared its token changed nothing. */
export function* refusalOf(tx: Transaction, queue: Queue, receipt: Receipt): Steps<LeaseRefusal> {
  return leaseRefusal(tx, yield* findRow(tx, queue, receipt), receipt) ?? 'stale'
}

/** The message that a receipt names, if it is still in the queue and has not ended. */
export function* findRow(
  view: View,
  queue: Queue,
  receipt: Receipt,
): Steps<MessageRow | undefined> {
  const row = yield* view.one(isTransaction(view) ? takeMessage : findMessage, receipt.sequence)
  if (row === undefined || row.generation !== queue.generation) return undefined
  return hasEnded(queue, row, view.now) ? undefined : row
}

/** The same for several, by their sequence numbers. */
export function* findRows(
  view: View,
  queue: Queue,
  receipts: readonly (Receipt | undefined)[],
): Steps<ReadonlyMap<number, MessageRow>> {
  const sequences = receipts.flatMap((receipt) => receipt?.sequence ?? [])
  if (sequences.length === 0) return new Map()
  const statement = isTransaction(view) ? takeMessages : findMessages
  const rows = yield* view.all(statement, JSON.stringify(sequences))
  const isThere = (row: MessageRow): boolean =>
    row.generation === queue.generation && !hasEnded(queue, row, view.now)
  return new Map(rows.filter(isThere).map((row) => [row.sequence, row]))
}

/** Whether it has expired, or the last lease of a job is over, although the sweep has not noticed. */
function hasEnded(queue: Queue, row: MessageRow, now: number): boolean {
  const isJob = row.job !== null
  const hasExpired = expiryOf(queue, row, isJob) <= now
  if (!isJob) return hasExpired
  const hasLapsed = isRunning(row) && row.due_at <= now
  if (hasExpired && (hasLapsed || !isRunning(row))) return true
  return hasLapsed && hasUsedUpReceives(queue, row)
}

/** Why the lease cannot be used, by its row; the statement that changes the row decides. */
export function leaseRefusal(
  { now }: Pick<View, 'now'>,
  row: MessageRow | undefined,
  receipt: Receipt,
): LeaseRefusal | undefined {
  if (row === undefined) return 'gone'
  if (row.token !== receipt.token) return 'stale'
  return row.state === leased && row.due_at > now ? undefined : 'lapsed'
}

export function receiptFor(view: View, queue: Queue, text: string): Receipt | undefined {
  const receipt = typeof text === 'string' ? view.receipts.parse(text) : undefined
  return receipt?.queueId === queue.id ? receipt : undefined
}
