/** What is staged and what runs, for those who look; nothing here changes anything. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Page } from '../backend.ts'
import type {
  CollectedKey,
  CollectorKey,
  KeySummary,
  ListKeys,
  ReadKey,
  StagedItem,
} from '../collector-store.ts'
import { stagedItem, stagedItems, stagedSince, waitingItems } from './collector-items.ts'
import { findKey, isRunning, type KeyRow, keptOf } from './collector-keys.ts'
import { triggerOf, triggerQueue } from './collector-triggers.ts'
import { allRows, upTo } from './rows.ts'
import type { StoreView } from './settling.ts'

export interface CollectorReadingStatements {
  readonly page: StatementSync
  readonly pageOfOne: StatementSync
}

export function prepareCollectorReading(db: DatabaseSync): CollectorReadingStatements {
  return {
    page: db.prepare(`
      SELECT * FROM collector_key
      WHERE (collector, key) > (?, ?) AND collector >= ? AND collector < ?
        AND kept = 0
      ORDER BY collector, key ${upTo}`),
    pageOfOne: db.prepare(`
      SELECT * FROM collector_key
      WHERE collector = ? AND key > ? AND kept = 0 ORDER BY key ${upTo}`),
  }
}

export function readKey(view: StoreView, request: ReadKey): CollectedKey | undefined {
  const row = findKey(view, request)
  if (row === undefined) return undefined
  const itemsOf = (key: KeyRow, limit: number): readonly StagedItem[] =>
    waitingItems(view, { key, runs: isRunning(view, key) }, limit).map(stagedItem)
  const keptItems: StagedItem[] = []
  for (const kept of keptOf(view, row)) {
    keptItems.push(...itemsOf(kept, request.limit - keptItems.length))
  }
  return { ...summaryOf(view, row), items: itemsOf(row, request.limit), keptItems }
}

export function listKeys(view: StoreView, request: ListKeys): Page<KeySummary> {
  const { limit } = request
  const rows = rowsOf(view, request)
  const items = rows.slice(0, limit).map((row) => summaryOf(view, row))
  const last = items.at(-1)
  return rows.length > limit && last !== undefined ? { items, next: cursorOf(last) } : { items }
}

/** Behind everything that goes on after a prefix. */
const lastCharacter = '\u{10FFFF}'

/** One row more than the page holds. */
function rowsOf({ session }: StoreView, request: ListKeys): readonly KeyRow[] {
  const { collector, prefix = '', after, limit } = request
  const { page, pageOfOne } = session.collectorReading
  const [afterCollector, afterKey] = after === undefined ? ['', ''] : placeIn(after)
  return collector === undefined
    ? allRows<KeyRow>(page, afterCollector, afterKey, prefix, prefix + lastCharacter, limit + 1)
    : allRows<KeyRow>(pageOfOne, collector, afterKey, limit + 1)
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
    // It is told apart below.
  }
  const allowed = "the 'next' of an earlier page"
  throw MillraceError.invalid([{ field: 'after', given: 'another text', allowed }])
}

function summaryOf(view: StoreView, row: KeyRow): KeySummary {
  const { collector, key } = row
  const state = { key: row, runs: isRunning(view, row) }
  const { items: staged, bytes } = stagedItems(view, state, Number.MAX_SAFE_INTEGER)
  const kept = keptOf(view, row).map((one) => ({ key: one, runs: isRunning(view, one) }))
  // Where nothing is staged, the trigger is told about that is kept longest.
  const about = staged > 0 || state.runs ? row : (kept[0]?.key ?? row)
  const trigger = triggerOf(view, triggerQueue(view, about), about)
  return {
    collector,
    key,
    staged,
    bytes,
    since: stagedSince(view, state),
    trigger: trigger.state,
    dueAt: trigger.dueAt,
    running: sum([state, ...kept].map((one) => (one.runs ? one.key.batch_items : 0))),
    kept: sum(kept.map((one) => stagedItems(view, one, Number.MAX_SAFE_INTEGER).items)),
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
