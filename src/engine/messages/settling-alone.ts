/**
 * How the settlements of one call run. Those whose parts can fail half-way, and those that did not fit on
 * the disk together, are an operation each: the database undoes one that fails alone, and settles its
 * neighbours. They share a commit all the same, unless one of them throws.
 */

import type { Settle, Settlement, SettleResult } from '../../backends/backend.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Database } from '../database.ts'
import { mayFailHalfway, PartRefused } from './settlement-parts.ts'
import { settleLeases } from './settling.ts'

export function settle(database: Database, request: Settle): Promise<readonly SettleResult[]> {
  if (request.settlements.some(mayFailHalfway)) return settleOneByOne(database, request)
  const { queue, settlements } = request
  const settled = database.settleEntries(queue, settlements, (tx, entries) =>
    settleLeases(tx, { queue, settlements: entries }),
  )
  if (request.settlements.length === 1) return settled
  return settled.catch((error: unknown) => {
    // On a full disk, a settlement that emits much must not block the others.
    if (!isFull(error)) throw error
    return settleOneByOne(database, request)
  })
}

async function settleOneByOne(
  database: Database,
  { queue, settlements }: Settle,
): Promise<readonly SettleResult[]> {
  const settleAlone = (settlement: Settlement): Promise<readonly SettleResult[]> =>
    database
      .settle((tx) => settleLeases(tx, { queue, settlements: [settlement] }))
      .catch(refusedAlone)
  const results = await Promise.all(settlements.map(settleAlone))
  return results.flat()
}

/** What concerns no other settlement: a part that was refused, or that did not fit on the disk. */
export function refusedAlone(error: unknown): readonly SettleResult[] {
  if (error instanceof PartRefused) return [{ status: 'refused', error: error.refusal }]
  if (isFull(error)) return [{ status: 'refused', error }]
  throw error
}

function isFull(error: unknown): error is MillraceError {
  return error instanceof MillraceError && error.code === 'store_full'
}
