/**
 * Proves that the model run notices a missing fence: for each statement of the engine that compares
 * a lease's token, the comparison is taken out and random runs must find a difference.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterEach, describe, test } from 'vitest'
import { commands } from './commands.ts'
import { runAgainstModel } from './engine-run.ts'
import { sqliteEngine } from './sqlite-engine.ts'

const seed = Number(process.env['MILLRACE_SEED'] ?? 20_260_101)
const runsMax = 1_500

const comparison = /\bAND token = \?/

const { prepare } = DatabaseSync.prototype

afterEach(() => {
  DatabaseSync.prototype.prepare = prepare
})

describe('a token comparison that is taken out', async () => {
  const fenced = await statementsWithComparison()

  test('can be taken out of several statements', () => {
    assert.ok(fenced.length >= 6, `only ${fenced.length} statements compare a token`)
  })

  for (const sql of fenced) {
    test(`is noticed in: ${oneLine(sql)}`, async () => {
      DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string, ...rest) {
        // The parameter stays, so that the others keep their places.
        const mutated = text === sql ? text.replace(comparison, 'AND (? IS NOT NULL OR 1)') : text
        return prepare.call(this, mutated, ...rest)
      }
      const engine = await sqliteEngine()
      const property = fc.asyncProperty(commands, (list) => runAgainstModel(engine, list))
      const { failed, numRuns } = await fc.check(property, {
        seed,
        numRuns: runsMax,
        endOnFailure: true,
      })
      await engine.close()
      await engine.remove()
      assert.ok(failed, `${numRuns} random runs did not notice`)
    }, 120_000)
  }
})

/** The texts of all statements that the engine prepares and that compare a token. */
async function statementsWithComparison(): Promise<readonly string[]> {
  const texts = new Set<string>()
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string, ...rest) {
    if (comparison.test(text)) texts.add(text)
    return prepare.call(this, text, ...rest)
  }
  try {
    const engine = await sqliteEngine()
    await engine.close()
    await engine.remove()
  } finally {
    DatabaseSync.prototype.prepare = prepare
  }
  return [...texts]
}

function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').trim()
}
