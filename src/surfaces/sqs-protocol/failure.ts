/** A failed request, for both protocols. */
import { SqsError, type SqsErrorKind, type SqsErrorName, sqsErrors } from './sqs-error.ts'
import { storeError } from './store-errors.ts'

export interface Failure {
  /** The name in the JSON protocol, with its namespace. */
  readonly type: string
  readonly queryCode: string
  readonly status: number
  readonly message: string
  readonly queryMessage: string
  /** Whether the error comes from SQS, and not from the common front end of AWS. */
  readonly byService: boolean
}

export function failureOf(error: unknown): Failure {
  const { kind, message } = error instanceof SqsError ? error : storeError(error)
  return failure(kind, message)
}

function failure(name: SqsErrorName, message: string): Failure {
  const { queryCode, status, queryMessage, byFrame }: SqsErrorKind = sqsErrors[name]
  const namespace = byFrame ? 'com.amazon.coral.service' : 'com.amazonaws.sqs'
  return {
    type: `${namespace}#${name}`,
    queryCode,
    status,
    message,
    queryMessage: queryMessage ?? message,
    byService: byFrame === undefined,
  }
}

/** The side at fault, as both protocols name it. */
export function faultOf({ status }: Pick<Failure, 'status'>): 'Sender' | 'Receiver' {
  return status < 500 ? 'Sender' : 'Receiver'
}
