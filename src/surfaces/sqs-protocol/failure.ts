/** What a client is told about a request that failed, whatever protocol it speaks. */
import { SqsError, type SqsErrorKind, type SqsErrorName, sqsErrors } from './sqs-error.ts'
import { storeError } from './store-errors.ts'

export interface Failure {
  /** The name of the JSON protocol, with the namespace of who refuses. */
  readonly type: string
  readonly queryCode: string
  readonly status: number
  readonly message: string
  readonly queryMessage: string
  /** Whether SQS itself refuses, rather than what stands before all services. */
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

/** Whose fault it is, in the words of both protocols. */
export function faultOf({ status }: Pick<Failure, 'status'>): 'Sender' | 'Receiver' {
  return status < 500 ? 'Sender' : 'Receiver'
}
