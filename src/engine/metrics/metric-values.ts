/** Values that apps set under names of their own, minute by minute; names are few, and kept apart. */

import type { Page } from '../../backends/backend.ts'
import type {
  LatestValue,
  MetricPage,
  ReadValues,
  ValueMinute,
} from '../../backends/metric-store.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { minuteOf } from '../../core/minutes.ts'
import { among, byKey, change, greatest, least, perRow, query, upTo } from '../statements.ts'
import { filtered, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const sql = {
  find: query<{ id: number }>('SELECT id FROM metric_name WHERE name = ?'),
  names: query<{ count: number }>('SELECT count(*) AS count FROM metric_name'),
  noteName: query<{ id: number }>(`
    INSERT INTO metric_name (name, count, sum, last, at) VALUES (?, 1, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET count = metric_name.count + 1, sum = metric_name.sum + excluded.sum,
      last = excluded.last, at = excluded.at
    RETURNING id`),
  latest: query<LatestValue>(`
    SELECT name, last AS value, at, count, sum FROM metric_name
    WHERE name > ? ORDER BY name ${upTo}`),
  add: change(`
    INSERT INTO metric_value (name, minute, count, sum, min, max) VALUES (?, ?, 1, ?, ?, ?)
    ON CONFLICT (name, minute) DO UPDATE SET count = metric_value.count + 1, sum = metric_value.sum + excluded.sum,
      min = ${least}(metric_value.min, excluded.min), max = ${greatest}(metric_value.max, excluded.max)`),
  read: query<ValueMinute>(`
    SELECT minute, count, sum, min, max FROM metric_value
    WHERE name = (SELECT id FROM metric_name WHERE metric_name.name = ?)
      AND minute BETWEEN ? AND ? ORDER BY minute`),
  forget: change(`
    DELETE FROM metric_value WHERE ${among(
      'name, minute',
      `FROM metric_value /*sqlite INDEXED BY metric_value_by_age */
      WHERE minute${byKey} < ? LIMIT CAST(? AS INTEGER)`,
    )}`),
  forgetNames: change(`
    DELETE FROM metric_name
    WHERE NOT EXISTS (
      SELECT 1 FROM metric_value WHERE metric_value.name = metric_name.id ${perRow}
    )`),
}

export interface NamedValue {
  readonly name: string
  readonly value: number
}

/** Everything that can be wrong is found before the first row changes. */
export function* addValues(tx: Transaction, values: readonly NamedValue[]): Steps<void> {
  if (values.length === 0) return
  yield* refuseTooMany(tx, new Set(values.map(({ name }) => name)))
  const minute = minuteOf(tx.now)
  for (const { name, value } of values) {
    const id = (yield* tx.one(sql.noteName, name, value, value, tx.now))?.id
    if (id !== undefined) yield* tx.run(sql.add, id, minute, value, value, value)
    tx.wroteRow()
  }
}

function* refuseTooMany(tx: Transaction, names: ReadonlySet<string>): Steps<void> {
  const added = yield* filtered(names, function* (name) {
    return (yield* tx.one(sql.find, name)) === undefined
  })
  if (added.length === 0) return
  const count = (yield* tx.one(sql.names))?.count ?? 0
  const { max } = limits.metricNames
  if (count + added.length <= max) return
  const allowed = `at most ${max} names in a store; one is free again three days after its last value`
  throw MillraceError.invalid([{ field: 'name', given: 'a new name', allowed }])
}

export function* readValues(view: View, request: ReadValues): Steps<readonly ValueMinute[]> {
  const { name, from, to } = request
  return (yield* view.all(sql.read, name, from, to)).map((row) => ({ ...row }))
}

export function* latestValues(
  view: View,
  { after = '', limit }: MetricPage,
): Steps<Page<LatestValue>> {
  const rows = yield* view.all(sql.latest, after, limit + 1)
  const items = rows.slice(0, limit).map((row) => ({ ...row }))
  const last = items.at(-1)
  return rows.length > limit && last !== undefined ? { items, next: last.name } : { items }
}

/** Removes a slice of old values, and names that have none left. */
export function* forgetValues(tx: Transaction, before: number, slice: number): Steps<number> {
  const forgotten = Number(yield* tx.changes(sql.forget, before, slice))
  if (forgotten > 0) yield* tx.run(sql.forgetNames)
  return forgotten
}
