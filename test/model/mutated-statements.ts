/** Takes a condition out of a statement of the store, to show that random runs would notice. */
import { DatabaseSync } from 'node:sqlite'

export interface Mutation {
  readonly rule: string
  /** The statement, as the beginning of its text on one line. */
  readonly statement: string
  readonly part: RegExp
  readonly becomes: string
}

/** Changes statements that are prepared from now on; the answer fills with those that it met. */
export function mutate({ statement, part, becomes }: Mutation): ReadonlySet<string> {
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
