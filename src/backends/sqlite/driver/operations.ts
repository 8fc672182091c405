/**
 * A part of the port as a table of rules. A rule is a function of a transaction, or of a view of the
 * store, and of the request. Its entry says how it runs; `boundStore` turns the table into the store.
 */

import { storageError } from './storage-fault.ts'
import { type StoreTransaction, StoreView } from './transaction.ts'
import type { Writer } from './writer.ts'

type Rule<View, Request, Answer> = (view: View, request: Request) => Answer

type Operation<Request, Answer> =
  | { readonly runs: 'read'; readonly rule: Rule<StoreView, Request, Answer> }
  | { readonly runs: 'change' | 'add'; readonly rule: Rule<StoreTransaction, Request, Answer> }

/** One operation for each method of a store. */
export type Operations<Store> = {
  readonly [Name in keyof Store]: Store[Name] extends (
    request: infer Request,
  ) => Promise<infer Answer>
    ? Operation<Request, Answer>
    : never
}

/** Reads at once, without a transaction. */
export function reads<Request, Answer>(
  rule: Rule<StoreView, Request, Answer>,
): Operation<Request, Answer> {
  return { runs: 'read', rule }
}

/** Settles, receives, changes or tidies: also when the disk is full, as long as the reserve lasts. */
export function changes<Request, Answer>(
  rule: Rule<StoreTransaction, Request, Answer>,
): Operation<Request, Answer> {
  return { runs: 'change', rule }
}

/** Adds messages: refused when the disk is full. */
export function adds<Request, Answer>(
  rule: Rule<StoreTransaction, Request, Answer>,
): Operation<Request, Answer> {
  return { runs: 'add', rule }
}

export function boundStore<Store>(writer: Writer, operations: Operations<Store>): Store {
  const entries: [string, Operation<unknown, unknown>][] = Object.entries(operations)
  return Object.fromEntries(
    entries.map(([name, operation]) => [name, bound(writer, operation)]),
  ) as Store
}

function bound<Request, Answer>(
  writer: Writer,
  operation: Operation<Request, Answer>,
): (request: Request) => Promise<Answer> {
  switch (operation.runs) {
    case 'read':
      return (request) => readNow(writer, (view) => operation.rule(view, request))
    case 'change':
      return (request) => writer.submit((tx) => operation.rule(tx, request))
    case 'add':
      return (request) => writer.add((tx) => operation.rule(tx, request))
  }
}

/** Reads the store as it is now, without a transaction. */
export async function readNow<T>(writer: Writer, read: (view: StoreView) => T): Promise<T> {
  try {
    const { session } = writer
    return read(new StoreView(session, session.refresh()))
  } catch (error) {
    throw storageError(error)
  }
}
