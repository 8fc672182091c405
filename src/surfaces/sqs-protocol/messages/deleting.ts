/**
 * Deleting messages by their receipt handles. On standard queues a handle does for as long as the
 * message exists, whoever has it by now; on FIFO queues, and for tracked jobs, only while the
 * message is in the hands of who received it.
 */
import type { SettleResult } from '../../../backends/backend.ts'
import type { ActionContext } from '../action.ts'
import type { SqsError } from '../sqs-error.ts'
import { storeError } from '../store-errors.ts'
import { expired, handleIsInvalid, refusedHandle } from './receipt-handles.ts'

const deletion = { kind: 'acknowledge', anyLease: true } as const

/** Why each of the messages could not be deleted; undefined where it is gone, now or before. */
export async function deleteMessages(
  context: ActionContext,
  handles: readonly string[],
): Promise<readonly (SqsError | undefined)[]> {
  const settlements = handles.map((receipt) => ({ receipt, outcome: deletion }))
  const results = await context.store.settle({ queue: context.queue().name, settlements })
  return results.map((result, index) => refusalOf(result, handles[index] ?? ''))
}

function refusalOf(result: SettleResult, handle: string): SqsError | undefined {
  switch (result.status) {
    case 'settled':
    case 'gone':
      return undefined
    case 'stale':
    case 'lapsed':
      return refusedHandle(handle, expired)
    case 'refused':
      return result.error.code === 'receipt_invalid'
        ? handleIsInvalid(handle)
        : storeError(result.error)
  }
}
