/** Pages of rows that have a number: the last one of a page is where the next page begins. */
import type { Page } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'

/** @param rows one more than the limit, when there are so many */
export function numberedPage<Row extends { readonly number: number }, Item>(
  rows: readonly Row[],
  limit: number,
  itemOf: (row: Row) => Item,
): Page<Item> {
  const page = rows.slice(0, limit)
  const items = page.map(itemOf)
  const last = page.at(-1)
  return rows.length > limit && last !== undefined
    ? { items, next: String(last.number) }
    : { items }
}

/** The number that a page begins behind. */
export function numberOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  const allowed = "the 'next' of an earlier page"
  throw MillraceError.invalid([{ field: 'after', given: 'another text', allowed }])
}
