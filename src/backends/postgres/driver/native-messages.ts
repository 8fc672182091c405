/** Ordinary messages and jobs on Postgres: one statement stores, leases or settles many rows. */
import { finishJobs } from '../../../engine/jobs/job-history.ts'
import { runningBucket } from '../../../engine/messages/buckets.ts'
import type { ContentRow } from '../../../engine/messages/content-row.ts'
import { hasOwnExpiries } from '../../../engine/messages/expiry.ts'
import { countLeased, isNewAndLasting, newLease } from '../../../engine/messages/leasing.ts'
import {
  deliveryFromRow,
  oldestReady,
  unleasedToken,
} from '../../../engine/messages/message-rows.ts'
import type {
  Acknowledgement,
  BulkLease,
  NativeMessages,
  PlainJob,
} from '../../../engine/messages/native-messages.ts'
import type { Queue } from '../../../engine/queues/queue.ts'
import { query } from '../../../engine/statements.ts'
import { Answer, inTurn, type Step, type Steps } from '../../../engine/steps.ts'
import type { Transaction } from '../../../engine/transaction.ts'
import type { Delivery, NewMessage } from '../../backend.ts'

const columns =
  'sequence, generation, state, due_at, token, leased_at, receive_count, sent_at, body'
const newRow = `nextval('@schema.message_sequence'), ?, 0, ?, ${unleasedToken}, ?, 0, ?, body`
const small = 'body IS NOT NULL AND group_name IS NULL AND unit IS NULL'

const sql = {
  insertMessages: query<{ sequence: number }>(`
    INSERT INTO message (${columns}, expires_at)
    SELECT ${newRow}, CAST(? AS BIGINT) FROM unnest(CAST(? AS TEXT[])) AS given (body)
    RETURNING sequence`),
  insertJobs: query<{ sequence: number }>(`
    INSERT INTO message (${columns}, job_type, job_owner, job)
    SELECT ${newRow}, type, owner, details
    FROM unnest(CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]))
      AS given (body, type, owner, details)
    RETURNING sequence`),
  lease: query<{ sequence: number; token: number }>(`
    UPDATE message SET
      state = 1, due_at = ?, token = nextval('@schema.lease_token'), leased_at = ?,
      receive_count = 1, bucket = CASE WHEN ? = 1 THEN '${runningBucket}' ELSE bucket END
    WHERE sequence = ANY (CAST(? AS BIGINT[])) AND state = 0
    RETURNING sequence, token`),
  acknowledge: query<{ sequence: number }>(`
    WITH given AS (
      SELECT * FROM unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[]), CAST(? AS TEXT[]))
        AS given (number, lease, result)
    ), held AS MATERIALIZED (
      SELECT message.*, given.result FROM message JOIN given ON given.number = message.sequence
      WHERE generation = ? AND token = lease AND state = 1 AND due_at > ? AND ${small}
      ORDER BY message.sequence FOR UPDATE OF message
    ), finished AS (
      ${finishJobs({ status: "'completed'", result: 'message.result', error: 'NULL' })}
      FROM held AS message WHERE job_type IS NOT NULL
    )
    DELETE FROM message USING held WHERE message.sequence = held.sequence
    RETURNING message.sequence`),
}

export class PostgresMessages implements NativeMessages {
  readonly #tx: Transaction

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  *storePlain(queue: Queue, messages: readonly NewMessage[]): Steps<readonly number[]> {
    const { now } = this.#tx
    const expiresAt = hasOwnExpiries(queue) ? now + queue.settings.retentionMs : null
    const bodies = arrayOf(messages.map(({ body }) => body))
    const values = [queue.generation, now, now, now, expiresAt, bodies] as const
    const rows = yield* this.#tx.all(sql.insertMessages, ...values)
    this.#countStored(queue, messages.length)
    return rows.map(({ sequence }) => sequence)
  }

  *storePlainJobs(queue: Queue, jobs: readonly PlainJob[]): Steps<readonly number[]> {
    const { now } = this.#tx
    const rows = yield* this.#tx.all(
      sql.insertJobs,
      queue.generation,
      now,
      now,
      now,
      arrayOf(jobs.map(({ body }) => body)),
      arrayOf(jobs.map(({ type }) => type)),
      arrayOf(jobs.map(({ owner }) => owner)),
      arrayOf(jobs.map(({ details }) => details)),
    )
    this.#countStored(queue, jobs.length)
    return rows.map(({ sequence }) => sequence)
  }

  #countStored(queue: Queue, count: number): void {
    this.#tx.count(queue, 'sent', count)
    this.#tx.count(queue, 'ready', count)
    this.#tx.gainedReady(queue)
  }

  /** The general claim does the same. */
  claimOrdinary(): Step<undefined> {
    return new Answer(undefined)
  }

  *leaseOldest(queue: Queue, lease: BulkLease): Steps<readonly Delivery[] | undefined> {
    const rows = yield* oldestReady(this.#tx, queue, lease.max + lease.ahead)
    const end = rows.findIndex(
      (row) => row.group_name !== null || !isNewAndLasting(queue, row, lease),
    )
    if (end === -1) return yield* this.leaseNew(queue, rows, lease)
    if (end < lease.max) return undefined
    return yield* this.leaseNew(queue, rows.slice(0, end), lease)
  }

  *leaseNew(
    queue: Queue,
    rows: readonly ContentRow[],
    { leaseExpiresAt }: BulkLease,
  ): Steps<readonly Delivery[]> {
    const tx = this.#tx
    if (rows.length === 0) return []
    const leased = yield* tx.all(
      sql.lease,
      leaseExpiresAt,
      tx.now,
      queue.countsRunning ? 1 : 0,
      arrayOf(rows.map(({ sequence }) => sequence)),
    )
    const tokens = new Map(leased.map(({ sequence, token }) => [sequence, token]))
    const taken = rows.filter(({ sequence }) => tokens.has(sequence))
    yield* countLeased(tx, queue, taken)
    return yield* inTurn(taken, (row) => {
      const token = tokens.get(row.sequence) ?? 0
      return deliveryFromRow(row, tx, newLease(tx, queue, row, { token, leaseExpiresAt }))
    })
  }

  *acknowledge(
    queue: Queue,
    acknowledgements: readonly Acknowledgement[],
  ): Steps<ReadonlySet<number>> {
    const { now } = this.#tx
    const rows = yield* this.#tx.all(
      sql.acknowledge,
      arrayOf(acknowledgements.map(({ receipt }) => receipt.sequence)),
      arrayOf(acknowledgements.map(({ receipt }) => receipt.token)),
      arrayOf(acknowledgements.map(({ result }) => result ?? null)),
      queue.generation,
      now,
      queue.name,
      now,
    )
    this.#tx.count(queue, 'leased', -rows.length)
    this.#tx.count(queue, 'acknowledged', rows.length)
    return new Set(rows.map(({ sequence }) => sequence))
  }
}

/** An array as Postgres reads it from a text. */
function arrayOf(values: readonly (string | number | null)[]): string {
  return `{${values.map(elementOf).join(',')}}`
}

function elementOf(value: string | number | null): string {
  if (typeof value !== 'string') return String(value)
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}
