/** What the janitor has found, and which of it was reported. */

import type {
  Finding,
  FindingStore,
  ListFindings,
  NewFinding,
  NoteFindings,
} from '../../backends/finding-store.ts'
import type { Database } from '../database.ts'
import { change, query, upTo } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const sql = {
  known: query<KnownRow>(
    'SELECT place, id, since, noted_at, seen_at, reported FROM finding WHERE scope = ? AND kind = ?',
  ),
  add: change(`
    INSERT INTO finding (scope, kind, place, id, type, since, noted_at, seen_at, reported)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`),
  see: change(`
    UPDATE finding SET seen_at = ?, reported = ?
    WHERE scope = ? AND kind = ? AND place = ? AND id = ?`),
  remove: change('DELETE FROM finding WHERE scope = ? AND kind = ? AND place = ? AND id = ?'),
  reported: query<Finding>(`
    SELECT scope, kind, place, id, type, since FROM finding
    WHERE reported = 1 AND (CAST(? AS TEXT) IS NULL OR scope = ?) AND (CAST(? AS TEXT) IS NULL OR kind = ?)
    ORDER BY since, place, id ${upTo}`),
  any: query<unknown>('SELECT 1 FROM finding WHERE scope = ? AND kind = ? LIMIT 1'),
}

interface KnownRow {
  readonly place: string
  readonly id: string
  readonly since: number
  readonly noted_at: number
  readonly seen_at: number
  readonly reported: 0 | 1
}

export function findingStore(database: Database): FindingStore {
  return {
    note: async (request) => {
      if (await database.read((view) => hasNothingToNote(view, request))) return []
      return database.change((tx) => noteFindings(tx, request))
    },
    list: (request) => database.read((view) => listFindings(view, request)),
  }
}

/** Nothing is found and nothing known nearly always: that must not take a transaction. */
function* hasNothingToNote(view: View, request: NoteFindings): Steps<boolean> {
  const { scope, kind, found } = request
  return found.length === 0 && (yield* view.one(sql.any, scope, kind)) === undefined
}

/** A finding that a partial search did not return is removed when no search finds it for this long. */
const forgottenAfterMs = 600_000

function* noteFindings(tx: Transaction, request: NoteFindings): Steps<readonly Finding[]> {
  const { scope, kind, found, isPartial, confirmAfterMs } = request
  yield* tx.lock(`findings:${scope}:${kind}`)
  const missing = new Map((yield* tx.all(sql.known, scope, kind)).map((row) => [keyOf(row), row]))
  const reported: Finding[] = []
  for (const { place, id, type, since = tx.now } of found) {
    const before = missing.get(keyOf({ place, id }))
    missing.delete(keyOf({ place, id }))
    if (before === undefined)
      yield* tx.run(sql.add, scope, kind, place, id, type, since, tx.now, tx.now)
    const isNew = before?.reported !== 1
    const isConfirmed = tx.now - (before?.noted_at ?? tx.now) >= confirmAfterMs
    yield* tx.run(sql.see, tx.now, isNew && !isConfirmed ? 0 : 1, scope, kind, place, id)
    tx.wroteRow()
    if (isNew && isConfirmed) {
      reported.push({ scope, kind, place, id, type, since: before?.since ?? since })
    }
  }
  for (const { place, id, seen_at: seenAt } of missing.values()) {
    if (isPartial && tx.now - seenAt < forgottenAfterMs) continue
    yield* tx.run(sql.remove, scope, kind, place, id)
    tx.wroteRow()
  }
  return reported
}

function* listFindings(view: View, request: ListFindings): Steps<readonly Finding[]> {
  const { scope = null, kind = null, limit } = request
  // Rows have no prototype, and are then equal to no other object.
  return (yield* view.all(sql.reported, scope, scope, kind, kind, limit)).map((row) => ({ ...row }))
}

function keyOf({ place, id }: Pick<NewFinding, 'place' | 'id'>): string {
  return JSON.stringify([place, id])
}
