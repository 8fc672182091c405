/** Values that apps set under names of their own, minute by minute; names are few, and kept apart. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limits } from '../../../core/limits.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { minuteOf } from '../../../core/minutes.ts'
import type { Page } from '../../backend.ts'
import type { LatestValue, MetricPage, ReadValues, ValueMinute } from '../../metric-store.ts'
import { allRows, getRow, upTo } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'

export interface ValueStatements {
  readonly find: StatementSync
  readonly names: StatementSync
  readonly noteName: StatementSync
  readonly latest: StatementSync
  readonly add: StatementSync
  readonly read: StatementSync
  readonly forget: StatementSync
  readonly forgetNames: StatementSync
}

export function prepareValues(db: DatabaseSync): ValueStatements {
  return {
    find: db.prepare('SELECT id FROM metric_name WHERE name = ?'),
    names: db.prepare('SELECT count(*) AS count FROM metric_name'),
    noteName: db.prepare(`
      INSERT INTO metric_name (name, count, sum, last, at) VALUES (?, 1, ?, ?, ?)
      ON CONFLICT DO UPDATE SET count = count + 1, sum = sum + excluded.sum,
        last = excluded.last, at = excluded.at
      RETURNING id`),
    latest: db.prepare(`
      SELECT name, last AS value, at, count, sum FROM metric_name
      WHERE name > ? ORDER BY name ${upTo}`),
    add: db.prepare(`
      INSERT INTO metric_value (name, minute, count, sum, min, max) VALUES (?, ?, 1, ?, ?, ?)
      ON CONFLICT DO UPDATE SET count = count + 1, sum = sum + excluded.sum,
        min = min(min, excluded.min), max = max(max, excluded.max)`),
    read: db.prepare(`
      SELECT minute, count, sum, min, max FROM metric_value
      WHERE name = (SELECT id FROM metric_name WHERE metric_name.name = ?)
        AND minute BETWEEN ? AND ? ORDER BY minute`),
    forget: db.prepare(`
      DELETE FROM metric_value WHERE (name, minute) IN (
        SELECT name, minute FROM metric_value INDEXED BY metric_value_by_age
        WHERE minute < ? LIMIT CAST(? AS INTEGER)
      )`),
    forgetNames: db.prepare(`
      DELETE FROM metric_name
      WHERE NOT EXISTS (SELECT 1 FROM metric_value WHERE metric_value.name = metric_name.id)`),
  }
}

export interface NamedValue {
  readonly name: string
  readonly value: number
}

/** Everything that can be wrong is found before the first row changes. */
export function addValues(tx: StoreTransaction, values: readonly NamedValue[]): void {
  if (values.length === 0) return
  refuseTooMany(tx, new Set(values.map(({ name }) => name)))
  const { noteName, add } = tx.session.metricValues
  const minute = minuteOf(tx.now)
  for (const { name, value } of values) {
    const id = getRow<{ id: number }>(noteName, name, value, value, tx.now)?.id
    if (id !== undefined) add.run(id, minute, value, value, value)
    tx.wroteRow()
  }
}

function refuseTooMany(tx: StoreTransaction, names: ReadonlySet<string>): void {
  const { find, names: known } = tx.session.metricValues
  const added = [...names].filter((name) => getRow(find, name) === undefined).length
  if (added === 0) return
  const count = getRow<{ count: number }>(known)?.count ?? 0
  const { max } = limits.metricNames
  if (count + added <= max) return
  const allowed = `at most ${max} names in a store; one is free again three days after its last value`
  throw MillraceError.invalid([{ field: 'name', given: 'a new name', allowed }])
}

export function readValues(session: Session, request: ReadValues): readonly ValueMinute[] {
  const { name, from, to } = request
  return allRows<ValueMinute>(session.metricValues.read, name, from, to).map((row) => ({ ...row }))
}

export function latestValues(
  session: Session,
  { after = '', limit }: MetricPage,
): Page<LatestValue> {
  const rows = allRows<LatestValue>(session.metricValues.latest, after, limit + 1)
  const items = rows.slice(0, limit).map((row) => ({ ...row }))
  const last = items.at(-1)
  return rows.length > limit && last !== undefined ? { items, next: last.name } : { items }
}

/** Removes a slice of old values, and names that have none left. */
export function forgetValues(tx: StoreTransaction, before: number, slice: number): number {
  const { forget, forgetNames } = tx.session.metricValues
  const forgotten = Number(forget.run(before, slice).changes)
  if (forgotten > 0) forgetNames.run()
  return forgotten
}
