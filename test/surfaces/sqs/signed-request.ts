/** Requests as the AWS SDK for JavaScript signs them, in the form in which a server gets them. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import type { SignedRequest } from '../../../src/surfaces/sqs-protocol/access/verify-signature.ts'

export const accessKeyId = 'AKIATUTORING00000001'
export const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzzEXAMPLE'
export const signedAt = Date.UTC(2026, 0, 31, 9, 59, 59)

export interface Unsigned {
  readonly method?: string
  readonly path?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Signing {
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  readonly sessionToken?: string
  readonly region?: string
  readonly service?: string
  readonly atMs?: number
  readonly expiresIn?: number
}

export const host = 'sqs.eu-central-1.localhost.localstack.cloud:4566'

/** A `SendMessage` of the JSON protocol, unless something else is said. */
export async function signedByHeader(
  { method = 'POST', path = '/', query = {}, headers, body = '{"a":1}' }: Unsigned = {},
  signing: Signing = {},
): Promise<SignedRequest> {
  const request = await signer(signing).sign(
    {
      ...address,
      method,
      path,
      query,
      headers: { host, ...(headers ?? jsonHeaders(body)) },
      body,
    },
    { signingDate: new Date(signing.atMs ?? signedAt) },
  )
  return received(request, body)
}

export async function presigned(
  {
    method = 'GET',
    path = '/000000000000/attempts',
    query = { Action: 'SendMessage', MessageBody: 'a b+c/ä*(!)~' },
    headers = {},
    body = '',
  }: Unsigned = {},
  signing: Signing = {},
): Promise<SignedRequest> {
  const request = await signer(signing).presign(
    { ...address, method, path, query, headers: { host, ...headers }, body },
    { signingDate: new Date(signing.atMs ?? signedAt), expiresIn: signing.expiresIn ?? 60 },
  )
  return received(request, body)
}

const address = { protocol: 'http:', hostname: host.split(':')[0] ?? '', port: 4566 }

function jsonHeaders(body: string): Record<string, string> {
  return {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': 'AmazonSQS.SendMessage',
    'content-length': String(Buffer.byteLength(body)),
  }
}

function signer({ region = 'eu-central-1', service = 'sqs', ...given }: Signing): SignatureV4 {
  const credentials = {
    accessKeyId,
    secretAccessKey,
    ...(given.accessKeyId !== undefined && { accessKeyId: given.accessKeyId }),
    ...(given.secretAccessKey !== undefined && { secretAccessKey: given.secretAccessKey }),
    ...(given.sessionToken !== undefined && { sessionToken: given.sessionToken }),
  }
  return new SignatureV4({ credentials, region, service, sha256: Sha256 })
}

interface SentRequest {
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>
  readonly headers: Readonly<Record<string, string>>
}

function received({ method, path, query = {}, headers }: SentRequest, body: string): SignedRequest {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? ''].flat().map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(one)}`),
  )
  return {
    method,
    url: pairs.length === 0 ? path : `${path}?${pairs.join('&')}`,
    rawHeaders: Object.entries(headers).flat(),
    body: Buffer.from(body),
  }
}

/** The form in which the signer wants its hashes. */
class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytes(secret))
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytes(data))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {}
}

function bytes(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data)
  return ArrayBuffer.isView(data)
    ? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    : Buffer.from(data)
}
