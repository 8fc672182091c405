/** Takes a condition out of a statement of the store, to show that random runs would notice. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'vitest'
import { CommitFaults } from './commit-faults.ts'

export interface Mutation {
  readonly rule: string
  /** The statement, as the beginning of its text on one line. */
  readonly statement: string
  readonly part: RegExp
  readonly becomes: string
}

/** @param firstFailure resolves with what random runs notice, or undefined */
export function testMutations(
  mutations: readonly Mutation[],
  firstFailure: (faults: CommitFaults) => Promise<unknown>,
): void {
  let faults: CommitFaults
  beforeEach(() => {
    faults = new CommitFaults()
    faults.install()
  })
  afterEach(() => faults.remove())

  for (const mutation of mutations) {
    test(`is noticed: ${mutation.rule}`, async () => {
      const mutated = mutate(mutation)
      const failure = await firstFailure(faults)
      assert.ok(mutated.size > 0, 'there is no such statement, or not with this part')
      assert.ok(failure !== undefined, 'the random runs did not notice')
    })
  }
}

/** Changes statements that are prepared from now on; the answer fills with those that it met. */
function mutate({ statement, part, becomes }: Mutation): ReadonlySet<string> {
  const mutated = new Set<string>()
  const prepareWithFaults = DatabaseSync.prototype.prepare
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string, ...rest) {
    const line = text.replaceAll(/\s+/g, ' ').trim()
    const isMeant = line.startsWith(statement) && part.test(line)
    if (isMeant) mutated.add(line)
    return prepareWithFaults.call(this, isMeant ? line.replace(part, becomes) : text, ...rest)
  }
  return mutated
}
