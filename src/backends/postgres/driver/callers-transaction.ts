/**
 * A transaction that belongs to the caller. The commit is the caller's, at any later time, so nothing is
 * written that other transactions need: no mark, no clock, and counts in rows that no other one uses.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import { snakeCase } from '../../../core/snake-case.ts'
import type { Queue } from '../../../engine/queues/queue.ts'
import { change, query } from '../../../engine/statements.ts'
import type { Steps } from '../../../engine/steps.ts'
import { countNames } from '../../../engine/transaction.ts'
import type { CallersConnection } from './callers-connection.ts'
import { notificationOf } from './notifications.ts'
import type { Moment } from './store-head.ts'
import { PostgresTransaction } from './transaction.ts'
import type { StoreFacts } from './view.ts'

const columns = countNames.map(snakeCase)

const newSlot = "-nextval('@schema.commit_series')"

/** A row that no open transaction has changed; if there is none, a new one. */
const freeSlot = `coalesce((
  SELECT slot FROM queue_count WHERE queue = CAST(? AS BIGINT) AND slot < 0
  LIMIT 1 FOR UPDATE SKIP LOCKED), ${newSlot})`

const addTo = (slot: string): string => `
  INSERT INTO queue_count (queue, slot, ${columns.join(', ')})
  SELECT CAST(? AS BIGINT), ${slot}, ${columns.map(() => 'CAST(? AS BIGINT)').join(', ')}
  ON CONFLICT (queue, slot) DO UPDATE SET
    ${columns.map((name) => `${name} = queue_count.${name} + excluded.${name}`).join(', ')}`

const sql = {
  addToFree: change(addTo(freeSlot)),
  addToNew: change(addTo(newSlot)),
  version: query<{ version: number }>('SELECT queues_version AS version FROM store'),
  // Other processes are notified when the caller commits.
  versionAndNotify: query<{ version: number }>(`
    SELECT queues_version AS version, pg_notify(CAST(? AS TEXT), CAST(? AS TEXT)) AS told FROM store`),
}

export interface CallersTransactionOptions {
  readonly connection: CallersConnection
  readonly facts: StoreFacts
  readonly moment: Moment
  readonly channel: string
  /** Another transaction has changed the rows of counts since the caller's began. */
  readonly countsApart: boolean
}

export class CallersTransaction extends PostgresTransaction {
  readonly #options: CallersTransactionOptions

  constructor(options: CallersTransactionOptions) {
    const { connection, facts, moment } = options
    const nowhere = { series: 0, number: 0, slot: 0 }
    super(connection, facts, { ...moment, clock: undefined }, nowhere)
    this.#options = options
  }

  /** Adding to a queue with limits changes nothing that they count. */
  protected override locks({ settings }: Queue): boolean {
    return settings.type === 'fifo'
  }

  protected override *addCounts(id: Queue['id'], values: readonly number[]): Steps<void> {
    if (this.#options.countsApart) yield* this.run(sql.addToNew, id, ...values)
    else yield* this.run(sql.addToFree, id, id, ...values)
  }

  // biome-ignore lint/correctness/useYield: it refuses before the first step
  override *queuesChanged(): Steps<void> {
    // All other transactions would have to wait for the caller's.
    throw new MillraceError('unsupported')
  }

  override async commit(): Promise<boolean> {
    this.sendGathered()
    await this.allSent()
    const { connection, channel } = this.#options
    const [found] = this.concernsOthers
      ? await connection.rows<{ version: number }>(sql.versionAndNotify, [
          channel,
          notificationOf('', this.queueChanges),
        ])
      : await connection.rows<{ version: number }>(sql.version, [])
    if (found?.version !== this.version) return false
    await connection.commit()
    return true
  }
}
