import assert from 'node:assert/strict'
import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { migrations } from '../../../src/backends/sqlite/migrations/index.ts'
import type { ErrorCode } from '../../../src/core/error-codes.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { defaultQueueSettings } from '../../../src/core/queue-settings.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

async function refuses(file: string, code: ErrorCode, saying: RegExp): Promise<void> {
  const before = readFileSync(file)
  await assert.rejects(openSqlite({ file }), (error) => {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, code)
    assert.match(error.message, saying)
    return true
  })
  assert.deepEqual(readFileSync(file), before, 'the file was changed')
}

async function makeStore(file: string, messages = 0): Promise<void> {
  const backend = await openSqlite({ file })
  await backend.createQueue({ queue: 'q' })
  for (let sent = 0; sent < messages; sent += 100) {
    const batch = Array.from({ length: 100 }, (_, index) => ({
      body: `${sent + index}`.repeat(50),
    }))
    await backend.send({ queue: 'q', messages: batch })
  }
  await backend.close()
}

/** Changes a store as another program would, and leaves one file behind. */
function changeStore(file: string, sql: string): void {
  const db = new DatabaseSync(file)
  db.exec(`${sql}; PRAGMA journal_mode = DELETE`)
  db.close()
}

describe('a file that is not a store', () => {
  test('is refused when it is no database at all', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('notes.txt')
      writeFileSync(file, 'shopping list\n'.repeat(200))
      await refuses(file, 'store_foreign', /notes\.txt.*move it away/)
    }))

  test('is refused when it is the database of another program', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('other.db')
      const other = new DatabaseSync(file)
      other.exec('CREATE TABLE customer (name TEXT); INSERT INTO customer VALUES (1)')
      other.close()
      await refuses(file, 'store_foreign', /other\.db is a database of another program/)
    }))

  test('is refused when it has a version, but neither a mark nor tables', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('versioned.db')
      const other = new DatabaseSync(file)
      other.exec('PRAGMA user_version = 3')
      other.close()
      await refuses(file, 'store_foreign', /versioned\.db is a database of another program/)
    }))

  test('is refused when it is a folder', () =>
    inTemporaryFolder('opening', async (folder) => {
      await assert.rejects(openSqlite({ file: folder.path }), { code: 'store_unusable' })
    }))

  test('is refused when its folder does not exist', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('missing/store.db')
      await assert.rejects(openSqlite({ file }), { code: 'store_unusable' })
    }))

  test('is taken when it is empty', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('empty.db')
      writeFileSync(file, '')
      await makeStore(file)
    }))
})

describe('a store of another version', () => {
  test('is refused when a newer program wrote it', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('newer.db')
      await makeStore(file)
      changeStore(file, `PRAGMA user_version = ${migrations.length + 1}`)
      await refuses(
        file,
        'store_too_new',
        new RegExp(`schema version ${migrations.length + 1}.*up to ${migrations.length}.*Upgrade`),
      )
    }))
})

describe('a store of an older version', () => {
  test('is brought up to date with what is in it', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('older.db')
      makeFirstStore(file)
      const backend = await openSqlite({ file })
      await backend.send({ queue: 'q', messages: [{ body: 'new' }] })
      const deliveries = await backend.receive({ queue: 'q', max: 10 })
      assert.deepEqual(
        deliveries.map(({ body, job }) => [body, job]),
        [
          ['old', null],
          ['new', null],
        ],
      )
      const { jobs } = backend
      assert.ok(jobs !== null)
      const [enqueued] = await jobs.enqueue({
        queue: 'q',
        jobs: [{ type: 'OCR', payload: '1', maxAttempts: 1 }],
      })
      assert.equal((await jobs.read({ id: enqueued?.id ?? '' }))?.status, 'pending')
      await backend.close()
    }))
})

/** A store as the first version of the schema left it, with a queue and a message. */
function makeFirstStore(file: string): void {
  const settings = JSON.stringify({ type: 'standard', ...defaultQueueSettings })
  const now = Date.now()
  const db = new DatabaseSync(file)
  db.exec(`
    ${migrations[0]}
    INSERT INTO queue VALUES (1, 'q', 1, '${settings}', '{}', NULL, ${now}, ${now}, NULL);
    INSERT INTO queue_count (queue, ready, sent) VALUES (1, 1, 1);
    INSERT INTO message (
      sequence, generation, state, due_at, token, leased_at, receive_count, sent_at, body
    ) VALUES (1, 1, 0, ${now}, 1 << 40, ${now}, 0, ${now}, 'old');
    UPDATE store SET last_sequence = 1, last_generation = 1, clock_ms = ${now};
    PRAGMA user_version = 1;
    PRAGMA application_id = ${0x4d694c72};`)
  db.close()
}

describe('a damaged store', () => {
  test.each([0, -1, -2_147_483_648])('is refused when its version is %d', (version) =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('versioned.db')
      await makeStore(file)
      changeStore(file, `PRAGMA user_version = ${version}`)
      await refuses(
        file,
        'store_corrupt',
        new RegExp(`versioned\\.db is marked.* version is ${version}: .*backup`),
      )
    }),
  )

  test('is refused when its tables are missing', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('bare.db')
      changeStore(file, `PRAGMA user_version = 1; PRAGMA application_id = ${0x4d694c72}`)
      await refuses(file, 'store_corrupt', /bare\.db is marked.* tables are missing/)
    }))

  test('is refused when it was cut short', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('short.db')
      await makeStore(file, 2_000)
      truncateSync(file, 40_960)
      await refuses(file, 'store_corrupt', /short\.db.*backup/)
    }))

  test('is refused when its first pages are overwritten', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('torn.db')
      await makeStore(file, 200)
      const descriptor = openSync(file, 'r+')
      // The page header of the schema table, behind the file's own header of 100 bytes.
      writeSync(descriptor, Buffer.alloc(64, 0xff), 0, 64, 100)
      closeSync(descriptor)
      await refuses(file, 'store_corrupt', /torn\.db/)
    }))

  test('answers with a typed error, again and again, when a page within is torn', () =>
    inTemporaryFolder('opening', async (folder) => {
      const file = folder.file('within.db')
      const copy = folder.file('copy.db')
      await makeStore(file, 5_000)
      copyFileSync(file, copy)
      const descriptor = openSync(copy, 'r+')
      const size = readFileSync(copy).length
      const empty = folder.file('empty.db')
      await makeStore(empty, 0)
      const schemaPages = readFileSync(empty).length / 4_096
      // Every page behind those of the schema: whatever the receive reads first is damaged.
      for (let page = schemaPages; page * 4_096 < size; page += 1) {
        writeSync(descriptor, Buffer.alloc(16, 0xff), 0, 16, page * 4_096)
      }
      closeSync(descriptor)
      const backend = await openSqlite({ file: copy })
      for (let round = 0; round < 3; round += 1) {
        await assert.rejects(backend.receive({ queue: 'q', max: 10 }), { code: 'store_corrupt' })
      }
      await backend.close()
    }))
})
