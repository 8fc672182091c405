/** The effects of tasks: messages in a queue of the store, and rows of a database outside of it. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import type { FinishedJob } from '../../src/index.ts'
import { bodiesOf } from '../support/bodies-of.ts'
import type { WorkshopScene } from './workshop-scene.ts'

/** Makes the database for effects outside of the store; the answer is its file. */
export function createLedger({ store }: WorkshopScene): string {
  const file = join(store, 'ledger.db')
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('CREATE TABLE effect (id TEXT PRIMARY KEY, token INTEGER NOT NULL) WITHOUT ROWID')
  db.close()
  return file
}

/** Each of these jobs has had one effect here and there, and no other job has had any. */
export async function assertOneEffectEach(
  { mill }: WorkshopScene,
  ledger: string,
  jobs: readonly FinishedJob[],
): Promise<void> {
  assert.ok(mill.storeFile !== null)
  const backend = await openSqlite({ file: mill.storeFile })
  const bodies = await bodiesOf(backend, mill.queues.effects.name)
  await backend.close()
  const emitted = bodies.map((body): string => JSON.parse(body))
  assert.deepEqual(emitted.toSorted(), jobs.map(({ id }) => id).toSorted())
  // The result is that of the run which has settled: no other run has written after it.
  const settled = new Map(jobs.map(({ id, result }) => [id, result]))
  assert.deepEqual(rowsOf(ledger), settled)
}

function rowsOf(ledger: string): ReadonlyMap<string, object> {
  const db = new DatabaseSync(ledger, { readOnly: true })
  const rows = db.prepare('SELECT id, token FROM effect').all()
  db.close()
  return new Map(rows.map(({ id, token }) => [String(id), { token }]))
}
