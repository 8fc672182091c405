/** A client for the steps of the benchmark, with connections that each send one request at a time. */
export interface WireClient {
  /** Runs one conversation per connection, all in parallel. */
  run(conversation: (index: number) => Conversation): Promise<void>
  close(): void
}

export interface Answer {
  readonly status: number
  readonly body: string
}

export interface WireRequest {
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: string
  /** The same request as bytes for a socket. */
  readonly bytes: Buffer
}

/** Returns the next request for the last response, or undefined at the end. */
export type Conversation = (last: Answer | undefined) => WireRequest | undefined

/** A request like one of an SDK, with a signature that is not checked. */
export function jsonRequest(action: string, input: object): WireRequest {
  const body = JSON.stringify(input)
  const headers = {
    host: '127.0.0.1:4566',
    authorization:
      'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sqs/aws4_request, ' +
      'SignedHeaders=host;x-amz-date, Signature=0',
    'x-amz-target': `AmazonSQS.${action}`,
    'content-type': 'application/x-amz-json-1.0',
    'content-length': Buffer.byteLength(body),
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const bytes = Buffer.from(`POST / HTTP/1.1\r\n${head.join('')}\r\n${body}`)
  return { headers, body, bytes }
}
