/**
 * Settlements that write rows of the caller's own, which the caller's own function does, and those that
 * did not fit on the disk together. Each of them is an operation by itself, so that one that fails is
 * undone alone and its neighbours are settled.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Settle, SettleResult } from '../../backend.ts'
import { isFull } from '../driver/storage-fault.ts'
import type { Writer } from '../driver/writer.ts'
import { settleLeases } from './settling.ts'

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
        .catch(refusedAlone),
    ),
  )
  return results.flat()
}

/** What the caller's function threw, or did not fit on the disk, concerns no other settlement. */
function refusedAlone(error: unknown): readonly SettleResult[] {
  const isItsOwn =
    error instanceof MillraceError && (error.code === 'within_failed' || isFull(error))
  if (!isItsOwn) throw error
  return [{ status: 'refused', error }]
}
