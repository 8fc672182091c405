/**
 * A part of the backend as a table of rules. A rule is a function of a transaction, or of a view of the
 * store, and of the request. Its entry says how it runs; `boundStore` turns the table into the store.
 */

import type { Database } from './database.ts'
import type { Step } from './steps.ts'
import type { Transaction, View } from './transaction.ts'

type Rule<View, Request, Result> = (view: View, request: Request) => Step<Result>

type Operation<Request, Result> =
  | { readonly runs: 'read'; readonly rule: Rule<View, Request, Result> }
  | { readonly runs: 'change' | 'add'; readonly rule: Rule<Transaction, Request, Result> }

/** One operation for each method of a store. */
export type Operations<Store> = {
  readonly [Name in keyof Store]: Store[Name] extends (
    request: infer Request,
  ) => Promise<infer Result>
    ? Operation<Request, Result>
    : never
}

/** Reads at once, without a transaction. */
export function reads<Request, Result>(
  rule: Rule<View, Request, Result>,
): Operation<Request, Result> {
  return { runs: 'read', rule }
}

/** Settles, receives, changes or tidies: also when the disk is full, as long as the reserve lasts. */
export function changes<Request, Result>(
  rule: Rule<Transaction, Request, Result>,
): Operation<Request, Result> {
  return { runs: 'change', rule }
}

/** Adds messages: refused when the disk is full. */
export function adds<Request, Result>(
  rule: Rule<Transaction, Request, Result>,
): Operation<Request, Result> {
  return { runs: 'add', rule }
}

export function boundStore<Store>(database: Database, operations: Operations<Store>): Store {
  const entries: [string, Operation<unknown, unknown>][] = Object.entries(operations)
  return Object.fromEntries(
    entries.map(([name, operation]) => [name, bound(database, operation)]),
  ) as Store
}

function bound<Request, Result>(
  database: Database,
  operation: Operation<Request, Result>,
): (request: Request) => Promise<Result> {
  switch (operation.runs) {
    case 'read':
      return (request) => database.read((view) => operation.rule(view, request))
    case 'change':
      return (request) => database.change((tx) => operation.rule(tx, request))
    case 'add':
      return (request) => database.add((tx) => operation.rule(tx, request))
  }
}
