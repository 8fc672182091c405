/**
 * Settlements that are an operation each: those whose parts can fail half-way, and those that did not
 * fit on the disk together. The writer undoes a failed operation alone, and settles its neighbours.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Settle, Settlement, SettleResult } from '../../backend.ts'
import { isFullFault } from '../driver/storage-fault.ts'
import type { Writer } from '../driver/writer.ts'
import { PartRefused } from './settlement-parts.ts'
import { settleLeases } from './settling.ts'

/** They share a commit all the same, unless one of them throws. */
export async function settleOneByOne(
  writer: Writer,
  { queue, settlements }: Settle,
): Promise<readonly SettleResult[]> {
  const settle = (settlement: Settlement): Promise<readonly SettleResult[]> =>
    writer
      .submit((tx) => settleLeases(tx, { queue, settlements: [settlement] }))
      .catch(refusedAlone)
  const results = await Promise.all(settlements.map(settle))
  return results.flat()
}

/** What concerns no other settlement: a part that was refused, or that did not fit on the disk. */
function refusedAlone(error: unknown): readonly SettleResult[] {
  if (error instanceof PartRefused) return [{ status: 'refused', error: error.refusal }]
  if (isFullFault(error) && error instanceof MillraceError) return [{ status: 'refused', error }]
  throw error
}
