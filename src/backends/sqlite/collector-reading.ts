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
} from '../collector-store.ts'
import { stagedItem, stagedItems, stagedSince, waitingItems } from './collector-items.ts'
import { findKey, isRunning, type KeyRow } from './collector-keys.ts'
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
      ORDER BY collector, key ${upTo}`),
    pageOfOne: db.prepare(`
      SELECT * FROM collector_key
      WHERE collector = ? AND key > ? ORDER BY key ${upTo}`),
  }
}

export function readKey(view: StoreView, request: ReadKey): CollectedKey | undefined {
  const row = findKey(view, request)
  if (row === undefined) return undefined
  const state = { key: row, runs: isRunning(view, row) }
  const items = waitingItems(view, state, request.limit)
  return { ...summaryOf(view, row), items: items.map(stagedItem) }
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
  const state = { key: row, runs: isRunning(view, row) }
  const { collector, key } = row
  const { items: staged, bytes } = stagedItems(view, state, Number.MAX_SAFE_INTEGER)
  const trigger = triggerOf(view, triggerQueue(view, row), row)
  return {
    collector,
    key,
    staged,
    bytes,
    since: stagedSince(view, state),
    trigger: trigger.state,
    dueAt: trigger.dueAt,
    running: state.runs ? row.batch_items : 0,
  }
}
