/**
 * Settlements that write rows of the caller's own, which the caller's own function does. Each of them
 * is an operation by itself, so that one that throws is undone alone and its neighbours are settled.
 */
import { MillraceError } from '../../core/millrace-error.ts'
import type { Settle, SettleResult } from '../backend.ts'
import { settleLeases } from './settling.ts'
import type { Writer } from './writer.ts'

export function hasWithin({ settlements }: Settle): boolean {
  return settlements.some(({ within }) => within !== undefined)
}

/** Settles one after the other; they share a commit all the same, unless one of them throws. */
export async function settleOneByOne(
  writer: Writer,
  { queue, settlements }: Settle,
): Promise<readonly SettleResult[]> {
  const results = await Promise.all(
    settlements.map((settlement) =>
      writer
        .submit((tx) => settleLeases(tx, { queue, settlements: [settlement] }))
        .catch(refusedWithin),
    ),
  )
  return results.flat()
}

/** What the caller's function threw is the answer of its own settlement, and of no other. */
function refusedWithin(error: unknown): readonly SettleResult[] {
  if (!(error instanceof MillraceError) || error.code !== 'within_failed') throw error
  return [{ status: 'refused', error }]
}
