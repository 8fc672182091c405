/** The errors of SQS: one table with the name in JSON, the code in Query, and the status. */
export interface SqsErrorKind {
  /** The code in the Query protocol. JSON clients get it in a header. */
  readonly queryCode: string
  readonly status: number
  /** The message for Query clients, if it differs. */
  readonly queryMessage?: string
  /** On AWS, this error comes from the common front end of all services. */
  readonly byFrame?: true
}

/** By the name in the JSON protocol. */
const kinds = {
  QueueDoesNotExist: {
    queryCode: 'AWS.SimpleQueueService.NonExistentQueue',
    status: 400,
    queryMessage: 'The specified queue does not exist for this wsdl version.',
  },
  QueueNameExists: { queryCode: 'QueueAlreadyExists', status: 400 },
  QueueDeletedRecently: { queryCode: 'AWS.SimpleQueueService.QueueDeletedRecently', status: 400 },
  PurgeQueueInProgress: { queryCode: 'AWS.SimpleQueueService.PurgeQueueInProgress', status: 403 },
  OverLimit: { queryCode: 'OverLimit', status: 403 },
  ResourceNotFoundException: { queryCode: 'ResourceNotFoundException', status: 404 },
  EmptyBatchRequest: { queryCode: 'AWS.SimpleQueueService.EmptyBatchRequest', status: 400 },
  TooManyEntriesInBatchRequest: {
    queryCode: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
    status: 400,
  },
  BatchEntryIdsNotDistinct: {
    queryCode: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct',
    status: 400,
  },
  InvalidBatchEntryId: { queryCode: 'AWS.SimpleQueueService.InvalidBatchEntryId', status: 400 },
  BatchRequestTooLong: { queryCode: 'AWS.SimpleQueueService.BatchRequestTooLong', status: 400 },
  MessageNotInflight: { queryCode: 'AWS.SimpleQueueService.MessageNotInflight', status: 400 },
  UnsupportedOperation: { queryCode: 'AWS.SimpleQueueService.UnsupportedOperation', status: 400 },
  InvalidParameterValueException: { queryCode: 'InvalidParameterValue', status: 400 },
  MissingRequiredParameterException: { queryCode: 'MissingParameter', status: 400 },
  InvalidAttributeName: { queryCode: 'InvalidAttributeName', status: 400 },
  InvalidAttributeValue: { queryCode: 'InvalidAttributeValue', status: 400 },
  InvalidMessageContents: { queryCode: 'InvalidMessageContents', status: 400 },
  ReceiptHandleIsInvalid: { queryCode: 'ReceiptHandleIsInvalid', status: 400 },
  AccessDeniedException: { queryCode: 'AccessDenied', status: 403 },

  MissingAuthenticationTokenException: {
    queryCode: 'MissingAuthenticationToken',
    status: 403,
    byFrame: true,
  },
  IncompleteSignatureException: {
    queryCode: 'IncompleteSignature',
    status: 400,
    byFrame: true,
  },
  UnrecognizedClientException: { queryCode: 'InvalidClientTokenId', status: 403, byFrame: true },
  InvalidSignatureException: { queryCode: 'SignatureDoesNotMatch', status: 403, byFrame: true },
  UnknownOperationException: {
    queryCode: 'UnknownOperationException',
    status: 400,
    byFrame: true,
  },
  SerializationException: { queryCode: 'MalformedInput', status: 400, byFrame: true },
  RequestEntityTooLargeException: {
    queryCode: 'RequestEntityTooLarge',
    status: 413,
    byFrame: true,
  },
  InvalidAction: { queryCode: 'InvalidAction', status: 400, byFrame: true },
  InternalFailure: { queryCode: 'InternalFailure', status: 500, byFrame: true },
  ServiceUnavailable: { queryCode: 'ServiceUnavailable', status: 503, byFrame: true },
} as const

export type SqsErrorName = keyof typeof kinds

export const sqsErrors: Readonly<Record<SqsErrorName, SqsErrorKind>> = kinds

export class SqsError extends Error {
  override readonly name = 'SqsError'
  readonly kind: SqsErrorName

  /** @param options `cause` is for the log, and never sent to a client */
  constructor(kind: SqsErrorName, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.kind = kind
  }
}
