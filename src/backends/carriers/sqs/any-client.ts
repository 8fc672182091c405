/** How a program names the client of SQS, without the types of the AWS SDK: they may be missing. */

/** An `SQSClient` of `@aws-sdk/client-sqs`. */
export interface AnySqsClient {
  send(command: never, options?: never): Promise<unknown>
}

export interface SqsClientSettings {
  readonly region?: string
  /** Of a server that speaks the protocol of SQS, such as Millrace's own. */
  readonly endpoint?: string
  /** Fixed, or a function of the SDK that fetches them. */
  readonly credentials?: SqsCredentials | (() => Promise<SqsCredentials>)
  /** Tries of one call. Default: that of the SDK. */
  readonly maxAttempts?: number
}

export interface SqsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiration?: Date
}

export function isSqsClient(given: AnySqsClient | SqsClientSettings): given is AnySqsClient {
  return 'send' in given && typeof given.send === 'function'
}
