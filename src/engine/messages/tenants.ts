/**
 * Fairness between the tenants of a standard queue, as SQS has it: a tenant with a large part of all
 * that is in flight is noisy, and gets something only when no quiet tenant has anything.
 */

import type { Queue } from '../queues/queue.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import type { ContentRow } from './content-row.ts'
import { groupChanged } from './groups.ts'

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
    ON CONFLICT (generation, name) DO UPDATE SET leased = tenant.leased + excluded.leased`),
  drop: change('DELETE FROM tenant WHERE generation = ? AND name = ? AND leased <= 0'),
  read: query<TenantRow>(
    'SELECT leased, noisy_until FROM tenant WHERE generation = ? AND name = ?',
  ),
  mark: change('UPDATE tenant SET noisy_until = ? WHERE generation = ? AND name = ?'),
}

/** Messages of a standard queue were leased. */
export function* tenantsLeased(
  tx: Transaction,
  queue: Queue,
  rows: readonly Pick<ContentRow, 'group_name'>[],
): Steps<void> {
  for (const { group_name } of rows) {
    if (group_name !== null) yield* tx.run(sql.add, queue.generation, group_name, 1)
  }
}

/**
 * The lease of a message has ended, whatever became of the message.
 *
 * @param returnedAt when it could be received again, if it can
 */
export function* leaseEnded(
  tx: Transaction,
  queue: Queue,
  group: string | null,
  returnedAt?: number,
): Steps<void> {
  if (group === null) return
  if (queue.settings.type === 'fifo') {
    yield* groupChanged(tx, queue.generation, group, returnedAt)
    return
  }
  yield* tx.run(sql.add, queue.generation, group, -1)
  yield* tx.run(sql.drop, queue.generation, group)
}

interface TenantRow {
  readonly leased: number
  readonly noisy_until: number
}

/** Whether a tenant takes so large a part of what is in flight that others go first. */
export function takesTooMuch({ leased }: TenantRow, leasedInAll: number): boolean {
  return leased >= noisyLeasedMin && leased > noisyShare * leasedInAll
}

/** The noisy tenants during one claim, which counts the messages that it takes. */
export class NoisyTenants {
  readonly #tx: Transaction
  readonly #queue: Queue
  readonly #known = new Map<string, boolean>()

  constructor(tx: Transaction, queue: Queue) {
    this.#tx = tx
    this.#queue = queue
  }

  /** Reads what is not known yet about the tenants of these. */
  *read(tenants: Iterable<string | null>): Steps<void> {
    for (const tenant of tenants) {
      if (tenant === null || this.#known.has(tenant)) continue
      this.#known.set(tenant, yield* this.#find(tenant))
    }
  }

  /** A message without a group is a tenant of its own, and so never noisy. */
  has(tenant: string | null): boolean {
    return tenant !== null && this.#known.get(tenant) === true
  }

  *#find(tenant: string): Steps<boolean> {
    const tx = this.#tx
    const { now } = tx
    const { generation } = this.#queue
    const row = yield* tx.one(sql.read, generation, tenant)
    if (row === undefined) return false
    const leasedInAll = yield* tx.counted(this.#queue, 'leased')
    if (!takesTooMuch(row, leasedInAll)) return row.noisy_until > now
    if (row.noisy_until < now + noisyMs - remarkAfterMs) {
      yield* tx.run(sql.mark, now + noisyMs, generation, tenant)
      tx.wroteRow()
    }
    return true
  }
}
