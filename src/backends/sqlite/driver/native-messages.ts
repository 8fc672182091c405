/**
 * Ordinary messages and jobs on SQLite: several rows with each statement, and no more columns than needed.
 * Each run of a statement has its price, and binding values is most of it.
 */

import { inFlightMax } from '../../../core/limits.ts'
import { finishJobs } from '../../../engine/jobs/job-history.ts'
import { nextBucket, runningBucket } from '../../../engine/messages/buckets.ts'
import { aheadIn } from '../../../engine/messages/claiming.ts'
import type { ContentRow } from '../../../engine/messages/content-row.ts'
import { delayIsDue, leaseIsDue } from '../../../engine/messages/elapsed-time.ts'
import { hasOwnExpiries } from '../../../engine/messages/expiry.ts'
import { countLeased, isNewAndLasting, newLease } from '../../../engine/messages/leasing.ts'
import {
  deliveryFromRow,
  isComplete,
  oldestReady,
  plainDelivery,
  unleasedToken,
} from '../../../engine/messages/message-rows.ts'
import type {
  Acknowledgement,
  BulkLease,
  NativeMessages,
  OrdinaryClaim,
  PlainJob,
} from '../../../engine/messages/native-messages.ts'
import type { Queue } from '../../../engine/queues/queue.ts'
import { change, query, type Statement, type Value } from '../../../engine/statements.ts'
import { Answer, runAtOnce } from '../../../engine/steps.ts'
import type { Counts, Transaction } from '../../../engine/transaction.ts'
import type { Delivery, NewMessage } from '../../backend.ts'
import type { Session } from './session.ts'

/** Messages and jobs that one statement stores. */
const messagesAtOnce = 10
const jobsAtOnce = 25

const rowsOf = (count: number, row: string): string =>
  Array.from({ length: count }, () => row).join(', ')
const insertInto = (columns: string, count: number, row: string): Statement =>
  change(`
    INSERT INTO message (
      sequence, generation, state, due_at, token, leased_at, receive_count, sent_at, body${columns}
    ) VALUES ${rowsOf(count, `(?, ?, 0, ?, ${unleasedToken}, ?, 0, ?, ?${row})`)}`)
const messages = (count: number): Statement => insertInto('', count, '')
const jobs = (count: number): Statement =>
  insertInto(', job_type, job_owner, job', count, ', ?, ?, ?')

/** Columns that have an index and are named here cost time, so only those that need them name them. */
const leaseNew = (more: string): Statement =>
  change(`
    UPDATE message /*sqlite INDEXED BY message_ready */ SET
      state = 1, due_at = ?, token = ? + sequence, leased_at = ?, receive_count = 1${more}
    WHERE generation = ? AND state = 0 AND sequence <= ?`)

const small = 'body IS NOT NULL AND group_name IS NULL AND unit IS NULL'
const live = `sequence = ? AND generation = ? AND token = ? AND state = 1 AND due_at > ? AND ${small}`
/** Rows that a worker claimed with one statement: their tokens are as far apart as their numbers. */
const together = `
  sequence BETWEEN ? AND ? AND generation = ? AND token = ? + sequence AND state = 1 AND due_at > ?
  AND ${small}`
const finish = (rows: string): Statement =>
  change(`${finishJobs()} FROM message WHERE ${rows} AND job_type IS NOT NULL`)

const sql = {
  insertMessage: messages(1),
  insertMessages: messages(messagesAtOnce),
  insertExpiring: insertInto(', expires_at', 1, ', ?'),
  insertJob: jobs(1),
  insertJobs: jobs(jobsAtOnce),
  leaseNew: leaseNew(''),
  leaseNewCounted: leaseNew(`, bucket = '${runningBucket}'`),
  deletePlain: change(`DELETE FROM message WHERE ${live} AND job_type IS NULL`),
  finish: finish(live),
  finishTogether: finish(together),
  remove: change('DELETE FROM message WHERE sequence = ?'),
  removeOurs: change('DELETE FROM message WHERE sequence = ? AND generation = ?'),
  removeTogether: change(`DELETE FROM message WHERE ${together}`),
  hasFinished: query<unknown>('SELECT 1 FROM finished_job WHERE number = ?'),
}

/** A transaction on SQLite, as far as its messages need it. */
interface NumberingTransaction extends Transaction {
  readonly session: Session
  takeSequence(): number
  takeTokens(firstSequence: number, lastSequence: number): number
  /** The messages of a queue as they stand, with what this transaction has changed. */
  countsOf(queue: Queue): Pick<Counts, 'ready' | 'leased'>
}

export class SqliteMessages implements NativeMessages {
  readonly #tx: NumberingTransaction

  constructor(tx: NumberingTransaction) {
    this.#tx = tx
  }

  storePlain(queue: Queue, messages: readonly NewMessage[]): Answer<readonly number[]> {
    const { now, session } = this.#tx
    const { generation } = queue
    const hasExpiry = hasOwnExpiries(queue)
    const many = hasExpiry ? 0 : messages.length - (messages.length % messagesAtOnce)
    const sequences: number[] = []
    let values: Value[] = []
    for (const [index, { body }] of messages.entries()) {
      const sequence = this.#tx.takeSequence()
      sequences.push(sequence)
      if (hasExpiry) {
        const expiresAt = now + queue.settings.retentionMs
        const insert = session.prepared(sql.insertExpiring)
        insert.run(sequence, generation, now, now, now, body, expiresAt)
      } else if (index >= many) {
        session.prepared(sql.insertMessage).run(sequence, generation, now, now, now, body)
      } else {
        values.push(sequence, generation, now, now, now, body)
        if (index % messagesAtOnce < messagesAtOnce - 1) continue
        session.prepared(sql.insertMessages).run(...values)
        values = []
      }
    }
    return new Answer(sequences)
  }

  storePlainJobs(queue: Queue, jobs: readonly PlainJob[]): Answer<readonly number[]> {
    const { now, session } = this.#tx
    const { generation } = queue
    const many = jobs.length - (jobs.length % jobsAtOnce)
    const sequences: number[] = []
    let values: Value[] = []
    for (const [index, { body, type, owner, details }] of jobs.entries()) {
      const sequence = this.#tx.takeSequence()
      sequences.push(sequence)
      if (index >= many) {
        const insert = session.prepared(sql.insertJob)
        insert.run(sequence, generation, now, now, now, body, type, owner, details)
      } else {
        values.push(sequence, generation, now, now, now, body, type, owner, details)
        if (index % jobsAtOnce < jobsAtOnce - 1) continue
        session.prepared(sql.insertJobs).run(...values)
        values = []
      }
    }
    return new Answer(sequences)
  }

  claimOrdinary(
    queue: Queue,
    { max, prefetch, leaseExpiresAt }: OrdinaryClaim,
  ): Answer<readonly Delivery[] | undefined> {
    const { session, now } = this.#tx
    const { generation } = queue
    const isOrdinary =
      session.one(leaseIsDue, generation, now) === undefined &&
      session.one(delayIsDue, generation, now) === undefined &&
      session.one(nextBucket, generation, runningBucket) === undefined
    const counts = this.#tx.countsOf(queue)
    if (!isOrdinary || counts.leased + max > inFlightMax) return new Answer(undefined)
    const ahead = prefetch === 0 ? 0 : aheadIn(counts, prefetch, max)
    return this.leaseOldest(queue, { max, ahead, leaseExpiresAt })
  }

  leaseOldest(queue: Queue, lease: BulkLease): Answer<readonly Delivery[] | undefined> {
    const rows = runAtOnce(oldestReady(this.#tx, queue, lease.max + lease.ahead))
    const isNew = (row: ContentRow): boolean =>
      row.group_name === null && isNewAndLasting(queue, row, lease)
    const end = rows.findIndex((row) => !isNew(row))
    if (end === -1) return new Answer(this.#leaseTogether(queue, rows, lease))
    // A crash costs a message that was claimed ahead an attempt, so only one that has all of them is.
    if (end < lease.max) return new Answer(undefined)
    return new Answer(this.#leaseTogether(queue, rows.slice(0, end), lease))
  }

  leaseNew(
    queue: Queue,
    rows: readonly ContentRow[],
    lease: BulkLease,
  ): Answer<readonly Delivery[]> {
    return new Answer(this.#leaseTogether(queue, rows, lease))
  }

  /** Leases rows that are all that is ready up to the last of them, with one statement. */
  #leaseTogether(
    queue: Queue,
    rows: readonly ContentRow[],
    { leaseExpiresAt }: BulkLease,
  ): readonly Delivery[] {
    const tx = this.#tx
    const [first] = rows
    const last = rows.at(-1)
    if (first === undefined || last === undefined) return []
    const offset = tx.takeTokens(first.sequence, last.sequence)
    const statement = queue.countsRunning ? sql.leaseNewCounted : sql.leaseNew
    tx.session.run(statement, leaseExpiresAt, offset, tx.now, queue.generation, last.sequence)
    runAtOnce(countLeased(tx, queue, rows))
    return rows.map((row) => {
      const token = offset + row.sequence
      const leased = newLease(tx, queue, row, { token, leaseExpiresAt })
      return isComplete(row, leased)
        ? plainDelivery(row, tx, leased)
        : runAtOnce(deliveryFromRow(row, tx, leased))
    })
  }

  acknowledge(
    queue: Queue,
    acknowledgements: readonly Acknowledgement[],
  ): Answer<ReadonlySet<number>> {
    const settled = new Set<number>()
    let next = 0
    while (next < acknowledgements.length) {
      const count = this.#countTogether(queue, acknowledgements, next)
      const run = acknowledgements.slice(next, next + count)
      if (count > 1) this.#completeTogether(queue, run, settled)
      for (const one of run) {
        const { sequence } = one.receipt
        if (!settled.has(sequence) && this.#acknowledgeOne(queue, one)) settled.add(sequence)
      }
      next += count
    }
    return new Answer(settled)
  }

  #acknowledgeOne(queue: Queue, { receipt, result }: Acknowledgement): boolean {
    const { session, now } = this.#tx
    const { sequence, token } = receipt
    const lease = [sequence, queue.generation, token, now] as const
    const isOfJobs = session.jobQueues.has(queue)
    if (!isOfJobs && session.prepared(sql.deletePlain).run(...lease).changes === 1) {
      return true
    }
    const ending = [queue.name, 'completed', result ?? null, null, now] as const
    if (session.prepared(sql.finish).run(...ending, ...lease).changes !== 1) return false
    if (!isOfJobs) session.jobQueues.add(queue)
    session.prepared(sql.remove).run(sequence)
    return true
  }

  /** How many, from `start` on, complete jobs that were claimed together; 1 where that does not matter. */
  #countTogether(queue: Queue, all: readonly Acknowledgement[], start: number): number {
    const first = all[start]
    if (first === undefined || !this.#tx.session.jobQueues.has(queue)) return 1
    let count = 1
    for (; ; count += 1) {
      const next = all[start + count]
      const follows =
        next?.receipt.sequence === first.receipt.sequence + count &&
        next.receipt.token === first.receipt.token + count &&
        next.result === first.result
      if (!follows) return count
    }
  }

  /** Completes jobs that were claimed together with two statements instead of two for each. */
  #completeTogether(queue: Queue, run: readonly Acknowledgement[], settled: Set<number>): void {
    const { session, now } = this.#tx
    const [first] = run
    if (first === undefined) return
    const { sequence, token } = first.receipt
    const last = sequence + run.length - 1
    const rows = [sequence, last, queue.generation, token - sequence, now] as const
    const ending = [queue.name, 'completed', first.result ?? null, null, now] as const
    const finished = session.changes(sql.finishTogether, ...ending, ...rows)
    if (finished === 0) return
    if (finished === run.length) {
      session.run(sql.removeTogether, ...rows)
      for (const { receipt } of run) settled.add(receipt.sequence)
      return
    }
    // Some leases have ended. A message whose job has an end is one of ours: the others lost theirs.
    for (const { receipt } of run) {
      const number = receipt.sequence
      if (session.one(sql.hasFinished, number) === undefined) continue
      if (session.changes(sql.removeOurs, number, queue.generation) > 0) settled.add(number)
    }
  }
}
