/**
 * Deleting messages by their receipt handles. On standard queues an older handle is accepted, and deletes
 * the message unless another receiver holds it. On FIFO queues, and for tracked jobs, only the handle of
 * the current receive is accepted.
 */
import type { SettleResult } from '../../../backends/backend.ts'
import type { ActionContext } from '../action.ts'
import type { SqsError } from '../sqs-error.ts'
import { storeError } from '../store-errors.ts'
import { expired, handleIsInvalid, refusedHandle } from './receipt-handles.ts'

const deletion = { kind: 'acknowledge', anyLease: true } as const

/** Resolves with one entry per handle: the error, or undefined if the handle was accepted. */
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
      // AWS expects the most recent handle. With an older one, the request succeeds and deletes nothing.
      return result.isHeld ? undefined : refusedHandle(handle, expired)
    case 'refused':
      return result.error.code === 'receipt_invalid'
        ? handleIsInvalid(handle)
        : storeError(result.error)
  }
}
