/** Checks of arguments about collectors. */
import { hasForbiddenCharacter } from '../core/check-message.ts'
import {
  checkLength,
  checkRange,
  checkStringRecord,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { type Checks, checkPage } from './checking.ts'
import type { AddItems, CollectorKey, CollectorStore, NewItem } from './collector-store.ts'

export const collectorChecks: Checks<CollectorStore> = {
  add: (into, request) => checkItems(into, '', request),
  begin: (into, request) => {
    checkKey(into, '', request)
    checkRange(into, 'maxItems', request.maxItems, limits.batchItems)
    checkRange(into, 'maxBytes', request.maxBytes, limits.batchBytes)
  },
  read: (into, request) => {
    checkKey(into, '', request)
    checkRange(into, 'limit', request.limit, limits.pageSize)
  },
  list: checkPage,
  flush: (into, request) => checkKey(into, '', request),
  repair: (into, request) => {
    checkRange(into, 'overdueMs', request.overdueMs, limits.overdueMs)
    checkRange(into, 'limit', request.limit, limits.pageSize)
  },
}

/** Also for items that come with a settlement. */
export function checkItems(into: Violations, prefix: string, request: AddItems): void {
  checkKey(into, prefix, request)
  const { items, windowMs, maxWaitMs, maxItems, maxBytes, rememberMs } = request
  const { min, max } = limits.messagesPerCall
  if (Array.isArray(items) && items.length >= min && items.length <= max) {
    for (const [index, item] of items.entries()) checkItem(into, `${prefix}items[${index}]`, item)
  } else {
    const given = Array.isArray(items) ? `${items.length} items` : describeGiven(items)
    into.push({ field: `${prefix}items`, given, allowed: `${min} to ${max} items` })
  }
  checkRange(into, `${prefix}windowMs`, windowMs, limits.delayMs)
  if (maxWaitMs !== undefined) checkRange(into, `${prefix}maxWaitMs`, maxWaitMs, limits.maxWaitMs)
  checkRange(into, `${prefix}maxItems`, maxItems, limits.batchItems)
  checkRange(into, `${prefix}maxBytes`, maxBytes, limits.batchBytes)
  checkRange(into, `${prefix}rememberMs`, rememberMs, limits.rememberMs)
}

/** Also for the batch that ends with a settlement. */
export function checkKey(into: Violations, prefix: string, { collector, key }: CollectorKey): void {
  checkText(into, `${prefix}collector`, collector, limits.collectorNameLength)
  checkText(into, `${prefix}key`, key, limits.collectorKeyLength)
}

function checkItem(into: Violations, field: string, item: NewItem): void {
  const { id, body, order, systemAttributes } = item
  checkText(into, `${field}.id`, id, limits.itemIdLength)
  checkLength(into, `${field}.body`, body, limits.itemLength)
  // No queue would take the message that it is merged into.
  if (typeof body === 'string' && hasForbiddenCharacter(body)) {
    const given = 'a character outside the set'
    into.push({ field: `${field}.body`, given, allowed: 'the characters of XML 1.0' })
  }
  if (systemAttributes !== undefined) {
    checkStringRecord(into, `${field}.systemAttributes`, systemAttributes)
  }
  if (Number.isFinite(order)) return
  into.push({ field: `${field}.order`, given: describeGiven(order), allowed: 'a finite number' })
}
