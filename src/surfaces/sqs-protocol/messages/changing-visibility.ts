/**
 * Changes when messages become visible again. 0 releases a message at once, and its receive counts. Any other
 * time moves the end of the lease. On a standard queue, it also hides a message that has become visible
 * again. An older receipt changes nothing while another receiver holds the message.
 */
import type { LeaseResult, SettleResult } from '../../../backends/backend.ts'
import { isFifoName } from '../../../core/check-queue.ts'
import { limits } from '../../../core/limits.ts'
import type { MillraceError } from '../../../core/millrace-error.ts'
import type { ActionContext } from '../action.ts'
import { invalidValue } from '../refusals.ts'
import { SqsError } from '../sqs-error.ts'
import { storeError } from '../store-errors.ts'
import { expired, handleIsInvalid, refusedHandle } from './receipt-handles.ts'

export const visibilitySecondsMax: number = limits.visibilityMs.max / 1_000

export interface VisibilityChange {
  readonly handle: string
  readonly seconds: number
}

/** Resolves with one entry per change: the error, or undefined if the change was made. */
export function changeVisibility(
  context: ActionContext,
  changes: readonly VisibilityChange[],
): Promise<readonly (SqsError | undefined)[]> {
  // All calls reach the store in the same turn, so they share a commit.
  return Promise.all(
    changes.map(async (change) => {
      const { handle, seconds } = change
      const result =
        seconds === 0 ? await handBack(context, handle) : await hide(context, handle, seconds)
      return refusalOf(change, result, isFifoName(context.queue().address.name))
    }),
  )
}

async function handBack(context: ActionContext, handle: string): Promise<Result> {
  const settlements = [{ receipt: handle, outcome: { kind: 'retry', delayMs: 0 } } as const]
  const [result] = await context.store.settle({ queue: context.queue().name, settlements })
  // On a standard queue a late handle is accepted while no other receiver holds the message.
  const isLate = result?.status === 'stale' || result?.status === 'lapsed'
  return isLate ? hide(context, handle, 0) : result
}

async function hide(context: ActionContext, handle: string, seconds: number): Promise<Result> {
  const leases = [{ receipt: handle, visibilityMs: seconds * 1_000, anyLease: true }]
  const [result] = await context.store.extend({ queue: context.queue().name, leases })
  return result
}

type Result = LeaseResult | SettleResult | undefined

function refusalOf(
  { handle, seconds }: VisibilityChange,
  result: Result,
  isFifo: boolean,
): SqsError | undefined {
  switch (result?.status) {
    case 'extended':
    case 'settled':
      return undefined
    case 'gone':
      return refusedHandle(handle, notAvailable)
    case 'lapsed':
    case 'stale':
      if (isFifo) return refusedHandle(handle, expired)
      return result.isHeld ? refusedHandle(handle, notAvailable) : notInFlight()
    default:
      return storeRefusal(handle, seconds, result?.error)
  }
}

const notAvailable = 'Message does not exist or is not available for visibility timeout change.'

/** For a tracked job, where only the current lease is valid. */
function notInFlight(): SqsError {
  return new SqsError('MessageNotInflight', "The specified message isn't in flight.")
}

function storeRefusal(handle: string, seconds: number, error: MillraceError | undefined): SqsError {
  if (error?.code === 'receipt_invalid') return handleIsInvalid(handle)
  if (error?.code !== 'invalid_argument') return storeError(error)
  const reason = `Total VisibilityTimeout for the message is beyond the limit [${visibilitySecondsMax} seconds]`
  return invalidValue({ parameter: 'VisibilityTimeout', value: seconds, reason })
}
