/** Errors about receipt handles, with the texts of SQS. */
import { looksLikeReceipt } from '../../../core/receipt.ts'
import { invalidValue, missingParameter } from '../refusals.ts'
import { SqsError } from '../sqs-error.ts'

/** For a handle that no receive returned, or that belongs to another queue. */
export function handleIsInvalid(handle: string): SqsError {
  const message = looksLikeReceipt(handle)
    ? `The receipt handle "${handle}" is not valid for this queue.`
    : `The input receipt handle "${handle}" is not a valid receipt handle.`
  return new SqsError('ReceiptHandleIsInvalid', message)
}

/** For a handle whose lease has ended. */
export const expired = 'The receipt handle has expired.'

export function refusedHandle(handle: string, reason: string): SqsError {
  return invalidValue({ parameter: 'ReceiptHandle', value: handle, reason })
}

/** Returns an error if the handle is missing. The store checks the rest. */
export function missingHandle(handle: string | undefined): SqsError | undefined {
  return handle === undefined || handle.trim() === ''
    ? missingParameter('ReceiptHandle')
    : undefined
}
