import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openDatabase } from '../../../src/backends/sqlite/driver/database.ts'
import { Statements } from '../../../src/backends/sqlite/driver/statements.ts'
import { declaredStatements, textFor } from '../../../src/engine/statements.ts'
// Loads the modules that declare them.
import '../../../src/backends/sqlite/index.ts'
import { recordSentMessages } from '../../../src/backends/sqlite/driver/sent-messages.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

describe('the statements of the engine', () => {
  test('can all be prepared on an empty SQLite store', () =>
    inTemporaryFolder('statements', async (folder) => {
      using db = openDatabase(folder.file('store.db'))
      // Only tests have the table that it makes.
      recordSentMessages(db)
      const statements = new Statements(db)
      assert.ok(declaredStatements.length > 300, `only ${declaredStatements.length} are declared`)
      for (const statement of declaredStatements) {
        assert.equal(statements.prepared(statement).sourceSQL, textFor('sqlite', statement))
      }
    }))

  test('are prepared once for each connection', () =>
    inTemporaryFolder('statements', async (folder) => {
      using db = openDatabase(folder.file('store.db'))
      const statements = new Statements(db)
      const [first] = declaredStatements
      assert.ok(first !== undefined)
      assert.equal(statements.prepared(first), statements.prepared(first))
    }))
})
