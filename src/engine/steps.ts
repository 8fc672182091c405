/**
 * Rules of the store as steps, so that each is written once for every database. A rule is a generator that
 * delegates each call of the database with `yield*`. A database in this process answers at once, and the
 * generator never suspends. One at the other end of a connection yields what the rule has to wait for.
 *
 * A rule must be rerunnable: a database may undo it and start it again. A forgotten `yield*` runs nothing
 * where answers come later, so the contract suite runs on such a store too.
 */

/** What a rule waits for. */
export type Wait = Promise<unknown>

/** One call of the database, or a rule that is made of some. */
export type Step<T> = Iterable<Wait, T, unknown>

export type Steps<T> = Generator<Wait, T, unknown>

/** A step that is done. */
export class Answer<T> implements IteratorReturnResult<T> {
  readonly done = true
  readonly value: T

  constructor(value: T) {
    this.value = value
  }

  [Symbol.iterator](): this {
    return this
  }

  next(): this {
    return this
  }
}

/** Runs a rule on a database that answers at once. */
export function runAtOnce<T>(rule: Step<T>): T {
  const steps = rule[Symbol.iterator]()
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}

/** Runs a rule for each item, one after the other. */
export function* inTurn<Item, T>(
  items: Iterable<Item>,
  rule: (item: Item) => Step<T>,
): Steps<readonly T[]> {
  const results: T[] = []
  for (const item of items) results.push(yield* rule(item))
  return results
}

/** The items for which a rule returns true. */
export function* filtered<Item>(
  items: Iterable<Item>,
  rule: (item: Item) => Step<boolean>,
): Steps<readonly Item[]> {
  const kept: Item[] = []
  for (const item of items) if (yield* rule(item)) kept.push(item)
  return kept
}

/** Whether a rule returns true for an item; it is not run for those behind. */
export function* some<Item>(
  items: Iterable<Item>,
  rule: (item: Item) => Step<boolean>,
): Steps<boolean> {
  for (const item of items) if (yield* rule(item)) return true
  return false
}

/** The results of a rule for each item, in one list. */
export function* gathered<Item, T>(
  items: Iterable<Item>,
  rule: (item: Item) => Step<readonly T[]>,
): Steps<readonly T[]> {
  const results: T[] = []
  for (const item of items) results.push(...(yield* rule(item)))
  return results
}
