/** What the steps of the bench need of a client: so many connections that each ask one after the other. */
export interface WireClient {
  /** Runs one conversation per connection, all at the same time. */
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
  /** The same as it goes over a socket. */
  readonly bytes: Buffer
}

/** What a connection asks next, given the answer to its last request; undefined when it is done. */
export type Conversation = (last: Answer | undefined) => WireRequest | undefined

/** A request as an SDK would send it, with a signature that nobody looks at. */
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
