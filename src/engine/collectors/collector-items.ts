/**
 * The items of a key, in the order in which they are merged. There is no
 * counter of them: whether there are enough is quick to read.
 */

import type { NewItem, StagedItem } from '../../backends/collector-store.ts'
import { change, oneOf, query, upTo } from '../statements.ts'
import { Answer, type Step, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import type { KeyRow } from './collector-keys.ts'

/** The items of a batch: see the migration. */
export const inBatch = 'key = ? AND (item_order, arrival) <= (?, ?) AND arrival <= ?'

const columns = 'id, item_order, arrival, staged_at, bytes, body, system_attributes'
/** While nothing runs the bounds are null, null and 0, and no item is on their near side. */
const waiting = `FROM collector_item
  WHERE key = ? AND NOT ((item_order, arrival) <= (?, ?) AND arrival <= ?)`

const sql = {
  insert: change(`
    INSERT INTO collector_item (
      key, item_order, arrival, id, staged_at, bytes, body, system_attributes
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
  first: query<ItemPlace>(`
    SELECT item_order, arrival, bytes FROM collector_item
    WHERE key = ? ORDER BY item_order, arrival ${upTo}`),
  waiting: query<ItemRow>(`SELECT ${columns} ${waiting} ORDER BY item_order, arrival ${upTo}`),
  staged: query<Staged>(`
    SELECT count(*) AS items, coalesce(sum(bytes), 0) AS bytes, min(staged_at) AS since
    FROM (SELECT bytes, staged_at ${waiting} ${upTo}) AS waiting`),
  stagedOf: query<Staged & { readonly number: number }>(`
    SELECT key AS number, count(*) AS items, sum(bytes) AS bytes, min(staged_at) AS since
    FROM collector_item WHERE ${oneOf('key')} GROUP BY key`),
}

export interface ItemRow {
  readonly id: string
  readonly item_order: number
  readonly arrival: number
  readonly staged_at: number
  readonly bytes: number
  readonly body: string
  /** JSON. */
  readonly system_attributes: string | null
}

export function* insertItem(tx: Transaction, { number }: KeyRow, item: NewItem): Steps<void> {
  const { id, order, body, bytes = Buffer.byteLength(body), systemAttributes } = item
  const system = systemAttributes === undefined ? null : JSON.stringify(systemAttributes)
  // Any number that rises is enough.
  const arrival = yield* tx.nextSequence()
  yield* tx.run(sql.insert, number, order, arrival, id, tx.now, bytes, body, system)
}

/** Where an item stands, and how large it is. */
export type ItemPlace = Pick<ItemRow, 'item_order' | 'arrival' | 'bytes'>

/** The first in order, those of a batch included; their bodies may be too large to read them all. */
export function* firstPlaces(
  view: View,
  { number }: KeyRow,
  limit: number,
): Steps<readonly ItemPlace[]> {
  return yield* view.all(sql.first, number, limit)
}

/** A key at one moment: its row, and whether the batch runs that it names. */
export interface KeyState {
  readonly key: KeyRow
  readonly runs: boolean
}

/** What waits, the items of a running batch left out; in order. */
export function* waitingItems(
  view: View,
  state: KeyState,
  limit: number,
): Steps<readonly ItemRow[]> {
  return yield* view.all(sql.waiting, ...boundsOf(state), limit)
}

export interface Staged {
  readonly items: number
  readonly bytes: number
  /** When the oldest of them was added. */
  readonly since: number | null
}

const nothing: Staged = { items: 0, bytes: 0, since: null }

/** How much waits; counted up to the limit. */
export function* stagedItems(view: View, state: KeyState, limit: number): Steps<Staged> {
  const found = yield* view.one(sql.staged, ...boundsOf(state), limit)
  return found ?? nothing
}

export function* hasStaged(view: View, state: KeyState): Steps<boolean> {
  return (yield* stagedItems(view, state, 1)).items > 0
}

/** How much waits in each of many keys, by one look at those that have no batch to be left out. */
export function* stagedOfEach(
  view: View,
  states: readonly KeyState[],
): Steps<(state: KeyState) => Step<Staged>> {
  const numbers = states.filter(({ runs }) => !runs).map(({ key }) => key.number)
  const rows = yield* view.all(sql.stagedOf, JSON.stringify(numbers))
  const found = new Map(rows.map(({ number, ...staged }) => [number, staged]))
  return (state) =>
    state.runs
      ? stagedItems(view, state, Number.MAX_SAFE_INTEGER)
      : new Answer(found.get(state.key.number) ?? nothing)
}

type Bounds = readonly [number, number | null, number | null, number]

function boundsOf({ key, runs }: KeyState): Bounds {
  const { number, batch_order, batch_last, batch_arrival } = key
  return runs ? [number, batch_order, batch_last, batch_arrival ?? 0] : [number, null, null, 0]
}

export function stagedItem(row: ItemRow): StagedItem {
  const { id, body, item_order: order, staged_at: stagedAt, system_attributes: system } = row
  const item = { id, body, order, stagedAt }
  return system === null ? item : { ...item, systemAttributes: JSON.parse(system) }
}
