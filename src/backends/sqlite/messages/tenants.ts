/**
 * Fairness between the tenants of a standard queue, as SQS has it: a tenant with a large part of all
 * that is in flight is noisy, and gets something only when no quiet tenant has anything.
 */
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { groupChanged } from './groups.ts'
import type { ContentRow } from './message-rows.ts'

/** With fewer in flight, no tenant is noisy. */
const noisyLeasedMin = 30
/** Part of all in flight that makes a tenant noisy. */
const noisyShare = 0.1
/** How long a tenant stays noisy after it last was, unless nothing of it is in flight any more. */
const noisyMs = 300_000
/** A tenant that stays noisy is recorded again only when this part of that time has passed. */
const remarkAfterMs = 60_000

const sql = {
  add: change(`
    INSERT INTO tenant (generation, name, leased, noisy_until) VALUES (?, ?, ?, 0)
    ON CONFLICT DO UPDATE SET leased = leased + excluded.leased`),
  drop: change('DELETE FROM tenant WHERE generation = ? AND name = ? AND leased <= 0'),
  read: query<{ leased: number; noisy_until: number }>(
    'SELECT leased, noisy_until FROM tenant WHERE generation = ? AND name = ?',
  ),
  mark: change('UPDATE tenant SET noisy_until = ? WHERE generation = ? AND name = ?'),
}

/** Messages of a standard queue were leased. */
export function tenantsLeased(
  tx: StoreTransaction,
  queue: Queue,
  rows: readonly Pick<ContentRow, 'group_name'>[],
): void {
  for (const { group_name } of rows) {
    if (group_name !== null) tx.run(sql.add, queue.generation, group_name, 1)
  }
}

/**
 * The lease of a message has ended, whatever became of the message.
 *
 * @param returnedAt when it could be received again, if it can
 */
export function leaseEnded(
  tx: StoreTransaction,
  queue: Queue,
  group: string | null,
  returnedAt?: number,
): void {
  if (group === null) return
  if (queue.settings.type === 'fifo') {
    groupChanged(tx, queue.generation, group, returnedAt)
    return
  }
  tx.run(sql.add, queue.generation, group, -1)
  tx.run(sql.drop, queue.generation, group)
}

/** The noisy tenants during one claim, which counts the messages that it takes. */
export class NoisyTenants {
  readonly #tx: StoreTransaction
  readonly #queue: Queue
  readonly #known = new Map<string, boolean>()

  constructor(tx: StoreTransaction, queue: Queue) {
    this.#tx = tx
    this.#queue = queue
  }

  /** A message without a group is a tenant of its own, and so never noisy. */
  has(tenant: string | null): boolean {
    if (tenant === null) return false
    let isNoisy = this.#known.get(tenant)
    if (isNoisy === undefined) {
      isNoisy = this.#find(tenant)
      this.#known.set(tenant, isNoisy)
    }
    return isNoisy
  }

  #find(tenant: string): boolean {
    const { session, now } = this.#tx
    const { generation } = this.#queue
    const row = session.one(sql.read, generation, tenant)
    if (row === undefined) return false
    const isNoisyNow =
      row.leased >= noisyLeasedMin &&
      row.leased > noisyShare * this.#tx.counted(this.#queue, 'leased')
    if (!isNoisyNow) return row.noisy_until > now
    if (row.noisy_until < now + noisyMs - remarkAfterMs) {
      session.run(sql.mark, now + noisyMs, generation, tenant)
      this.#tx.wroteRow()
    }
    return true
  }
}
