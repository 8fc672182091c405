/** A store of the eighteenth schema, in which jobs expired by the retention of their queue. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { migrations } from '../../../src/backends/sqlite/migrations/index.ts'
import { defaultQueueSettings } from '../../../src/core/queue-settings.ts'
import { type VirtualPorts, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const minute = 60_000
const unleased = 2 ** 40

interface OldRow {
  readonly sequence: number
  readonly generation: number
  readonly state: number
  readonly dueIn: number
  readonly heldFor?: number
  readonly bucket?: string
  readonly isJob: boolean
}

/** Queue 1 has jobs and messages, queue 2 only messages. All of it was sent just now, for a minute. */
const rows: readonly OldRow[] = [
  { sequence: 1, generation: 1, state: 0, dueIn: 0, isJob: false },
  { sequence: 2, generation: 1, state: 0, dueIn: 0, isJob: true },
  // It waits for a retry that its retention would not have let it live to see.
  { sequence: 3, generation: 1, state: 1, dueIn: minute, heldFor: 5 * minute, isJob: true },
  { sequence: 4, generation: 1, state: 3, dueIn: minute, bucket: '[null,"OCR",null]', isJob: true },
  { sequence: 5, generation: 1, state: 3, dueIn: minute, bucket: '[null,null,null]', isJob: false },
  { sequence: 6, generation: 1, state: 0, dueIn: 0, isJob: false },
  { sequence: 7, generation: 2, state: 0, dueIn: 0, isJob: false },
]

function writeStore(file: string, now: number): void {
  const settings = JSON.stringify({
    ...{ type: 'standard', ...defaultQueueSettings, retentionMs: minute },
  })
  const db = new DatabaseSync(file)
  for (const migration of migrations.slice(0, 18)) db.exec(migration)
  const addQueue = db.prepare(`
    INSERT INTO queue (id, name, generation, settings, tags, created_at, changed_at)
    VALUES (?, ?, ?, ?, '{}', ?, ?)`)
  addQueue.run(1, 'mixed', 1, settings, now, now)
  addQueue.run(2, 'plain', 2, settings, now, now)
  db.exec(`
    INSERT INTO queue_count (queue, ready, leased, sent) VALUES (1, 5, 1, 6);
    INSERT INTO queue_count (queue, ready, sent) VALUES (2, 1, 1);`)
  const details = JSON.stringify({ type: 'OCR', max: 3 })
  const addMessage = db.prepare(`
    INSERT INTO message (
      sequence, generation, state, due_at, held_until, token, leased_at, receive_count, sent_at,
      bucket, body, job_type, job
    ) VALUES (?, ?, ?, ?, ?, ${unleased}, ?, ?, ?, ?, ?, ?, ?)`)
  for (const { sequence, generation, state, dueIn, heldFor, bucket, isJob } of rows) {
    const heldUntil = heldFor === undefined ? null : now + heldFor
    const times = [now + dueIn, heldUntil, now, state === 1 ? 1 : 0, now] as const
    const job = isJob ? (['OCR', details] as const) : ([null, null] as const)
    addMessage.run(sequence, generation, state, ...times, bucket ?? null, `${sequence}`, ...job)
  }
  db.exec(`
    UPDATE store SET last_sequence = 7, last_generation = 2, clock_ms = ${now};
    PRAGMA user_version = 18;
    PRAGMA application_id = ${0x4d694c72};`)
  db.close()
}

async function upgradedStore(): Promise<{ backend: Backend; ports: VirtualPorts }> {
  const folder = await temporaryFolder('upgrading')
  const file = folder.file('millrace.db')
  const ports = virtualPorts()
  writeStore(file, ports.clock.now())
  const backend = await openSqlite({ file, ports })
  onTestFinished(async () => {
    await backend.close()
    assertSoundStore(file)
    await folder.remove()
  })
  return { backend, ports }
}

async function bodies(backend: Backend, queue: string): Promise<readonly string[]> {
  const { items } = await backend.peek({ queue, state: 'ready', limit: 10 })
  return items.map(({ body }) => body)
}

describe('a store in which jobs expired by retention', () => {
  test('keeps what waits, in its order', async () => {
    const { backend } = await upgradedStore()
    assert.deepEqual(await bodies(backend, 'mixed'), ['1', '2', '4', '5', '6'])
    assert.deepEqual(await bodies(backend, 'plain'), ['7'])
  })

  test('lets plain messages expire, and no jobs', async () => {
    const { backend, ports } = await upgradedStore()
    await ports.clock.advance(minute)
    const { ready, leased, totals } = await backend.queueStatistics({ queue: 'mixed' })
    assert.deepEqual([ready, leased, totals.expired], [2, 1, 3])
    while ((await backend.sweep()).more);
    assert.deepEqual(await bodies(backend, 'mixed'), ['2', '4'])
    assert.deepEqual(await bodies(backend, 'plain'), [])
    await ports.clock.advance(4 * minute)
    assert.deepEqual(await bodies(backend, 'mixed'), ['2', '3', '4'])
    const deliveries = await backend.receive({ queue: 'mixed', max: 10 })
    assert.deepEqual(
      deliveries.map(({ body }) => body),
      ['2', '3', '4'],
    )
  })
})
