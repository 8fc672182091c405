/** Receipt handles that do not do, in the words of SQS. */
import { parseReceipt } from '../../../core/receipt.ts'
import { invalidValue, missingParameter } from '../refusals.ts'
import { SqsError } from '../sqs-error.ts'

/** A handle that no receive gave out, or one that another queue gave out. */
export function handleIsInvalid(handle: string): SqsError {
  const message =
    parseReceipt(handle) === undefined
      ? `The input receipt handle "${handle}" is not a valid receipt handle.`
      : `The receipt handle "${handle}" is not valid for this queue.`
  return new SqsError('ReceiptHandleIsInvalid', message)
}

/** Why a handle is refused whose message went back, or to somebody else. */
export const expired = 'The receipt handle has expired.'

export function refusedHandle(handle: string, reason: string): SqsError {
  return invalidValue({ parameter: 'ReceiptHandle', value: handle, reason })
}

/** Whether there is a handle at all; the store looks at it. */
export function missingHandle(handle: string | undefined): SqsError | undefined {
  return handle === undefined || handle.trim() === ''
    ? missingParameter('ReceiptHandle')
    : undefined
}
