/** Ordinary messages and jobs on Postgres: one statement stores, leases or settles many rows. */
import { inFlightMax } from '../../../core/limits.ts'
import { finishJobs } from '../../../engine/jobs/job-history.ts'
import { runningBucket } from '../../../engine/messages/buckets.ts'
import type { ContentRow } from '../../../engine/messages/content-row.ts'
import { hasOwnExpiries } from '../../../engine/messages/expiry.ts'
import { countLeased, isNewAndLasting, newLease } from '../../../engine/messages/leasing.ts'
import {
  type ContentValues,
  contentColumns,
  contentFromValues,
  deliveryFromRow,
  isComplete,
  oldestReady,
  plainDelivery,
} from '../../../engine/messages/message-rows.ts'
import type {
  Acknowledgement,
  BulkLease,
  NativeMessages,
  OrdinaryClaim,
  PlainJob,
} from '../../../engine/messages/native-messages.ts'
import type { Queue } from '../../../engine/queues/queue.ts'
import { arrayQuery, query } from '../../../engine/statements.ts'
import { inTurn, type Steps } from '../../../engine/steps.ts'
import type { Transaction } from '../../../engine/transaction.ts'
import type { Delivery, NewMessage } from '../../backend.ts'
import { arrayOf } from './arrays.ts'
import type { ClaimHorizon } from './claim-horizon.ts'
import type { Gathered } from './plain-inserts.ts'
import { blockSize } from './sequence-block.ts'

const texts = 'CAST(? AS TEXT[])'
const small = 'body IS NOT NULL AND group_name IS NULL AND unit IS NULL'

/** What a claim changes. Columns with an index that are named here cost time. */
const leasedNow = `
  state = 1, due_at = ?, leased_at = ?, receive_count = 1, token = nextval('@schema.lease_token')`

/** As they were before the claim. */
const newColumns = contentColumns.replace('receive_count', 'receive_count - 1')

const due = (state: number): string => `EXISTS (
  SELECT 1 FROM message WHERE generation = ? AND state = ${state} AND state > 0 AND due_at <= ?)`

const sql = {
  lease: query<{ sequence: number; token: number }>(`
    UPDATE message SET ${leasedNow},
      bucket = CASE WHEN ? = 1 THEN '${runningBucket}' ELSE bucket END
    WHERE sequence = ANY (CAST(? AS BIGINT[])) AND state + 0 = 0
    RETURNING sequence, token`),
  // Leases the rows before the first one that is not new and lasting, unless that is one of the first.
  claim: arrayQuery<readonly [isOrdinary: 0 | 1, token: number | null, ...ContentValues]>(`
    WITH total AS MATERIALIZED (
      SELECT CAST(coalesce(sum(ready), 0) AS BIGINT) AS ready,
        CAST(coalesce(sum(leased), 0) AS BIGINT) AS leased
      FROM queue_count WHERE queue = ?
    ), wanted AS MATERIALIZED (
      SELECT given.max, greatest(0, least(given.prefetch, ${inFlightMax} - leased - given.max,
          (ready - given.max) / 2)) AS ahead,
        NOT (leased + given.max > ${inFlightMax} OR ${due(1)} OR ${due(2)} OR EXISTS (
          SELECT 1 FROM message
          WHERE generation = ? AND bucket IS NOT NULL AND bucket <> '${runningBucket}')
        ) AS is_open
      FROM total, (SELECT CAST(? AS BIGINT) AS max, CAST(? AS BIGINT) AS prefetch) AS given
    ), picked AS MATERIALIZED (
      SELECT ctid AS place, sequence, receive_count = 0 AND group_name IS NULL AND (
          CASE WHEN job_type IS NULL THEN coalesce(expires_at, sent_at + CAST(? AS BIGINT)) > ?
          ELSE expires_at IS NULL OR expires_at > ? END
        ) AS is_new
      FROM message
      WHERE generation = ? AND state = 0 AND sequence >= ? AND (SELECT is_open FROM wanted)
      ORDER BY sequence LIMIT (SELECT max + ahead FROM wanted)
      FOR UPDATE SKIP LOCKED
    ), old AS MATERIALIZED (
      SELECT min(sequence) AS first FROM picked WHERE NOT is_new
    ), usable AS MATERIALIZED (
      SELECT place FROM picked, old WHERE first IS NULL OR sequence < first
    ), verdict AS MATERIALIZED (
      SELECT is_open AND (first IS NULL OR (SELECT count(*) FROM usable) >= max) AS is_ordinary
      FROM wanted, old
    ), leased AS (
      UPDATE message SET ${leasedNow}, bucket = CASE WHEN ? = 1 THEN '${runningBucket}' ELSE bucket END
      WHERE ctid = ANY (ARRAY(SELECT place FROM usable, verdict WHERE is_ordinary))
      RETURNING token, ${newColumns}
    )
    SELECT is_ordinary, leased.* FROM verdict LEFT JOIN leased ON true`),
  // Without a join: of an empty table, all orders of a join cost the same, and one reads it all.
  acknowledge: arrayQuery<readonly [sequence: number]>(`
    WITH given AS MATERIALIZED (
      SELECT CAST(numbers AS BIGINT[]) AS numbers, jsonb_object(numbers, leases) AS leases,
        jsonb_object(numbers, results) AS results
      FROM (SELECT ${texts} AS numbers, ${texts} AS leases, ${texts} AS results) AS lists
    ), gone AS (
      DELETE FROM message
      WHERE sequence = ANY (CAST((SELECT numbers FROM given) AS BIGINT[]))
        AND token = CAST((SELECT leases FROM given) ->> CAST(sequence AS TEXT) AS BIGINT)
        AND generation + 0 = ? AND state + 0 = 1 AND due_at + 0 > ? AND ${small}
      RETURNING message.*, (SELECT results FROM given) ->> CAST(sequence AS TEXT) AS result
    ), finished AS (
      ${finishJobs({ status: "'completed'", result: 'message.result', error: 'NULL' })}
      FROM gone AS message WHERE job_type IS NOT NULL
    )
    SELECT sequence FROM gone`),
}

/** A transaction on Postgres, as far as its messages need it. */
interface GatheringTransaction extends Transaction {
  readonly horizon: ClaimHorizon
  /** Rows that it leaves behind. */
  deadRows: number
  /** The first of so many numbers in a row, at most a block. */
  takeSequences(count: number): Steps<number>
  /** Plain rows, which are stored with what follows. */
  gather(rows: Gathered): void
}

export class PostgresMessages implements NativeMessages {
  readonly #tx: GatheringTransaction

  constructor(tx: GatheringTransaction) {
    this.#tx = tx
  }

  *storePlain(queue: Queue, messages: readonly NewMessage[]): Steps<readonly number[]> {
    const { now } = this.#tx
    const expiresAt = hasOwnExpiries(queue) ? now + queue.settings.retentionMs : null
    return yield* this.#store(messages, (sequences, part) => {
      const bodies = part.map(({ body }) => body)
      this.#tx.gather({ kind: 'messages', queue, sequences, bodies, expiresAt })
    })
  }

  *storePlainJobs(queue: Queue, jobs: readonly PlainJob[]): Steps<readonly number[]> {
    return yield* this.#store(jobs, (sequences, part) => {
      const bodies = part.map(({ body }) => body)
      this.#tx.gather({ kind: 'jobs', queue, sequences, bodies, jobs: [...part] })
    })
  }

  *#store<Row>(
    rows: readonly Row[],
    gather: (sequences: number[], part: readonly Row[]) => void,
  ): Steps<readonly number[]> {
    const tx = this.#tx
    const all: number[] = []
    for (let start = 0; start < rows.length; start += blockSize) {
      const part = rows.slice(start, start + blockSize)
      const first = yield* tx.takeSequences(part.length)
      const sequences = part.map((_, index) => first + index)
      gather(sequences, part)
      all.push(...sequences)
    }
    return all
  }

  *claimOrdinary(queue: Queue, claim: OrdinaryClaim): Steps<readonly Delivery[] | undefined> {
    const { horizon } = this.#tx
    const { generation } = queue
    yield* this.#tx.writeCounts()
    const from = horizon.from(generation)
    const found = yield* this.#claimFrom(queue, claim, from)
    const [first] = found ?? []
    if (first !== undefined) horizon.found(generation, { from, first: first.sequence })
    else horizon.reset(generation)
    if (found === undefined || from === 0 || found.length >= claim.max) return found
    const rest = { ...claim, max: claim.max - found.length }
    return [...found, ...((yield* this.#claimFrom(queue, rest, 0)) ?? [])]
  }

  *#claimFrom(
    queue: Queue,
    { max, prefetch, leaseExpiresAt }: OrdinaryClaim,
    from: number,
  ): Steps<readonly Delivery[] | undefined> {
    const { now } = this.#tx
    const { generation } = queue
    const values = yield* this.#tx.all(
      sql.claim,
      queue.id,
      ...[generation, now, generation, now, generation],
      ...[max, prefetch],
      ...[queue.settings.retentionMs, leaseExpiresAt, leaseExpiresAt],
      ...[generation, from],
      ...[leaseExpiresAt, now, queue.countsRunning ? 1 : 0],
    )
    const [first] = values
    if (first === undefined || first[0] === 0) return undefined
    const leased = values.flatMap(([, token, ...content]) =>
      token === null ? [] : { token, row: contentFromValues(content as unknown as ContentValues) },
    )
    leased.sort((left, right) => left.row.sequence - right.row.sequence)
    return yield* this.#delivered(queue, leased, leaseExpiresAt)
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
    const taken = rows.flatMap((row) => {
      const token = tokens.get(row.sequence)
      return token === undefined ? [] : { token, row }
    })
    return yield* this.#delivered(queue, taken, leaseExpiresAt)
  }

  /** Counts rows that were leased, and returns their deliveries. */
  *#delivered(
    queue: Queue,
    leased: readonly { readonly token: number; readonly row: ContentRow }[],
    leaseExpiresAt: number,
  ): Steps<readonly Delivery[]> {
    const tx = this.#tx
    if (leased.length === 0) return []
    yield* countLeased(
      tx,
      queue,
      leased.map(({ row }) => row),
    )
    return yield* inTurn(leased, function* ({ token, row }) {
      const lease = newLease(tx, queue, row, { token, leaseExpiresAt })
      if (isComplete(row, lease)) return plainDelivery(row, tx, lease)
      return yield* deliveryFromRow(row, tx, lease)
    })
  }

  *acknowledge(
    queue: Queue,
    acknowledgements: readonly Acknowledgement[],
  ): Steps<ReadonlySet<number>> {
    const { now } = this.#tx
    // In one order, so that no two transactions wait for each other.
    const given = acknowledgements.toSorted(
      (left, right) => left.receipt.sequence - right.receipt.sequence,
    )
    const rows = yield* this.#tx.all(
      sql.acknowledge,
      arrayOf(given.map(({ receipt }) => receipt.sequence)),
      arrayOf(given.map(({ receipt }) => receipt.token)),
      arrayOf(given.map(({ result }) => result ?? null)),
      queue.generation,
      now,
      queue.name,
      now,
    )
    // The one that was claimed, and the one before that.
    this.#tx.deadRows += 2 * rows.length
    return new Set(rows.map(([sequence]) => sequence))
  }
}
