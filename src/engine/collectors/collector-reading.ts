/** Reads what is staged and what runs; changes nothing. */

import type { Page } from '../../backends/backend.ts'
import type {
  CollectedKey,
  CollectorKey,
  KeySummary,
  ListKeys,
  ReadKey,
  StagedItem,
} from '../../backends/collector-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { query, upTo } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import { type KeyState, stagedItem, stagedOfEach, waitingItems } from './collector-items.ts'
import { findKey, isRunning, type KeyRow, keptOf } from './collector-keys.ts'
import { triggerOfEach } from './collector-triggers.ts'

const sql = {
  page: query<KeyRow>(`
    SELECT * FROM collector_key
    WHERE (collector, key) > (?, ?) AND collector >= ? AND collector < ?
      AND kept = 0
    ORDER BY collector, key ${upTo}`),
  pageOfOne: query<KeyRow>(`
    SELECT * FROM collector_key
    WHERE collector = ? AND key > ? AND kept = 0 ORDER BY key ${upTo}`),
  kept: query<KeyRow>(`
    SELECT * FROM collector_key
    WHERE kept = 1 AND (collector, key) >= (?, ?) AND (collector, key) <= (?, ?)
    ORDER BY collector, key, number`),
}

export function* readKey(view: View, request: ReadKey): Steps<CollectedKey | undefined> {
  const row = yield* findKey(view, request)
  if (row === undefined) return undefined
  const itemsOf = function* (key: KeyRow, limit: number): Steps<readonly StagedItem[]> {
    const runs = yield* isRunning(view, key)
    return (yield* waitingItems(view, { key, runs }, limit)).map(stagedItem)
  }
  const keptItems: StagedItem[] = []
  for (const kept of yield* keptOf(view, row)) {
    keptItems.push(...(yield* itemsOf(kept, request.limit - keptItems.length)))
  }
  const [summary] = yield* summariesOf(view, [row])
  return summary && { ...summary, items: yield* itemsOf(row, request.limit), keptItems }
}

export function* listKeys(view: View, request: ListKeys): Steps<Page<KeySummary>> {
  const { limit } = request
  const rows = yield* rowsOf(view, request)
  const items = yield* summariesOf(view, rows.slice(0, limit))
  const last = items.at(-1)
  return rows.length > limit && last !== undefined ? { items, next: cursorOf(last) } : { items }
}

/** Sorts after every text with the prefix. */
const lastCharacter = '\u{10FFFF}'

/** One row more than the page holds. */
function* rowsOf(view: View, request: ListKeys): Steps<readonly KeyRow[]> {
  const { collector, prefix = '', after, limit } = request
  const [afterCollector, afterKey] = after === undefined ? ['', ''] : placeIn(after)
  return collector === undefined
    ? yield* view.all(sql.page, afterCollector, afterKey, prefix, prefix + lastCharacter, limit + 1)
    : yield* view.all(sql.pageOfOne, collector, afterKey, limit + 1)
}

/** Both may contain any character, and a cursor is typed into shells. */
function cursorOf({ collector, key }: CollectorKey): string {
  return Buffer.from(JSON.stringify([collector, key])).toString('base64url')
}

function placeIn(cursor: string): readonly [string, string] {
  try {
    const text = Buffer.from(cursor, 'base64url').toString()
    const [collector, key]: readonly unknown[] = JSON.parse(text)
    if (typeof collector === 'string' && typeof key === 'string') return [collector, key]
  } catch {
    // The code below distinguishes them.
  }
  const allowed = "the 'next' of an earlier page"
  throw MillraceError.invalid([{ field: 'after', given: 'another text', allowed }])
}

/** A few queries for all of them together: a page may have a thousand keys. */
function* summariesOf(view: View, rows: readonly KeyRow[]): Steps<readonly KeySummary[]> {
  const stateOf = function* (key: KeyRow): Steps<KeyState> {
    return { key, runs: yield* isRunning(view, key) }
  }
  const keys = yield* inTurn(rows, stateOf)
  const kept = yield* inTurn(yield* keptBetween(view, rows), stateOf)
  const all = [...keys, ...kept]
  const keptByName = Map.groupBy(kept, ({ key }) => nameOf(key))
  const stagedIn = yield* stagedOfEach(view, all)
  const triggerIn = yield* triggerOfEach(
    view,
    all.map(({ key }) => key),
  )
  return yield* inTurn(keys, function* (state): Steps<KeySummary> {
    const { collector, key } = state.key
    const { items: staged, bytes, since } = yield* stagedIn(state)
    const beside = keptByName.get(nameOf(state.key)) ?? []
    // Where nothing is staged, the trigger of the oldest kept batch is shown.
    const about = staged > 0 || state.runs ? state : (beside[0] ?? state)
    const { state: trigger, dueAt } = yield* triggerIn(about.key)
    const stagedBeside = yield* inTurn(beside, stagedIn)
    return {
      collector,
      key,
      staged,
      bytes,
      since,
      trigger,
      dueAt,
      running: sum([state, ...beside].map((one) => (one.runs ? one.key.batch_items : 0))),
      kept: sum(stagedBeside.map(({ items }) => items)),
    }
  })
}

/** Batches that are kept of keys from the first to the last of these, which are in order. */
function* keptBetween(view: View, rows: readonly KeyRow[]): Steps<readonly KeyRow[]> {
  const [first] = rows
  const last = rows.at(-1)
  if (first === undefined || last === undefined) return []
  const bounds = [first.collector, first.key, last.collector, last.key]
  return yield* view.all(sql.kept, ...bounds)
}

function nameOf({ collector, key }: CollectorKey): string {
  return JSON.stringify([collector, key])
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
