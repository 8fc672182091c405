/** Turns what a batch handler returned into the end of each item. */

import { isOutcome } from '../contracts/handler-outcome.ts'
import { isError } from '../core/is-error.ts'
import { isThenable } from '../core/is-thenable.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { HandlerEnd } from './handler-end.ts'

/** Waits for the promises in a returned array. One that rejects becomes the error of its item. */
export function withoutPromises(returned: unknown): unknown {
  if (!Array.isArray(returned) || !returned.some(isThenable)) return returned
  return Promise.allSettled(returned).then((ends) =>
    ends.map((end) => (end.status === 'fulfilled' ? end.value : errorOf(end.reason))),
  )
}

function errorOf(reason: unknown): unknown {
  if (isError(reason)) return reason
  const text = typeof reason === 'string' ? reason : 'The item was rejected without an error.'
  return new Error(text, { cause: reason })
}

/** The end of each item, in order. An array of another length fails all: which item it means is unclear. */
export function itemEnds(end: HandlerEnd, count: number): readonly HandlerEnd[] {
  const all = (one: HandlerEnd): readonly HandlerEnd[] => Array.from({ length: count }, () => one)
  if (end.how !== 'returned') return all(end)
  const { value } = end
  if (value === undefined || value === null || isOutcome(value)) return all(end)
  if (!Array.isArray(value) || value.length !== count) {
    return all({ how: 'threw', error: wrongReturn(value, count) })
  }
  return Array.from(value, (one: unknown) =>
    isError(one) ? { how: 'threw', error: one } : { how: 'returned', value: one },
  )
}

function wrongReturn(value: unknown, count: number): MillraceError {
  const given = Array.isArray(value)
    ? `an array of length ${value.length}`
    : `a value of type ${typeof value}`
  const allowed = `nothing, one outcome for all items, or an array of length ${count} with one result, outcome or error per item`
  return MillraceError.invalid([{ field: 'the result of the batch handler', given, allowed }])
}
