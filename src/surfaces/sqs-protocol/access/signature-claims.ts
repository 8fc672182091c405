/**
 * The claims of a request about its signature: from its Authorization header or, if presigned, from its
 * query. They are not verified here.
 */
import { isForm } from '../content-types.ts'
import { targetOf } from '../request-target.ts'
import { SqsError } from '../sqs-error.ts'
import {
  type HeaderValues,
  headerValues,
  type QueryParameter,
  queryParameters,
  type RequestHead,
} from './canonical-request.ts'

export const signatureAlgorithm = 'AWS4-HMAC-SHA256'

export interface SignatureClaims {
  readonly isPresigned: boolean
  readonly credential: string
  /** As sent by the client, in lower case. */
  readonly signedHeaders: readonly string[]
  readonly signature: string
  /** The time of the signature, as sent by the client. */
  readonly date: string
  /** The lifetime of a presigned request, as sent by the client. */
  readonly expires: string | undefined
  readonly securityToken: string | undefined
  readonly path: string
  /** All parameters except the signature. */
  readonly query: readonly QueryParameter[]
  readonly headers: HeaderValues
}

/** Throws if the request has no signature, or one that cannot be parsed. */
export function claimsOf({
  url,
  rawHeaders,
  body,
}: RequestHead & { readonly body?: Uint8Array }): SignatureClaims {
  const { path, query: queryText } = targetOf(url)
  const headers = headerValues(rawHeaders)
  const query = queryParameters(queryText)
  const authorization = headers.get('authorization')
  const isPresigned = query.some(({ name }) => name === 'X-Amz-Algorithm')
  if (isPresigned && authorization !== undefined) {
    throw new SqsError(
      'InvalidSignatureException',
      "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
    )
  }
  if (isPresigned) return { ...claimsInQuery(query), path, headers }
  if (!authorization?.some((value) => value.startsWith('AWS4-'))) {
    const isOlder =
      authorization?.some((value) => value.startsWith('AWS ')) ||
      hasVersion2(query) ||
      (body !== undefined && hasVersion2(formIn(headers, body)))
    if (isOlder) {
      throw new SqsError(
        'IncompleteSignatureException',
        'The request signature does not conform to AWS standards. Its version is too old; ' +
          'use AWS Signature Version 4 (AWS4-HMAC-SHA256).',
      )
    }
    throw new SqsError(
      'MissingAuthenticationTokenException',
      'Request is missing Authentication Token',
    )
  }
  return { ...claimsInHeader(authorization, headers), path, query, headers }
}

function hasVersion2(parameters: readonly QueryParameter[]): boolean {
  return parameters.some(({ name }) => name === 'SignatureVersion' || name === 'AWSAccessKeyId')
}

/** The parameters of the body, if it is a form. */
function formIn(headers: HeaderValues, body: Uint8Array): readonly QueryParameter[] {
  if (!isForm(single(headers, 'content-type') ?? '')) return []
  return queryParameters(Buffer.from(body).toString('latin1'))
}

/** Comes first, because other algorithms have other parameters. */
function checkAlgorithm(given: string): void {
  if (given === signatureAlgorithm) return
  const name = /^AWS4-[A-Z0-9-]{1,40}$/.test(given) ? `'${given}'` : 'an unknown one'
  throw new SqsError(
    'IncompleteSignatureException',
    `Unsupported AWS 'algorithm': ${name} (only ${signatureAlgorithm} is supported).`,
  )
}

type ClaimsElsewhere = Omit<SignatureClaims, 'path' | 'query' | 'headers'>

function claimsInHeader(authorization: readonly string[], headers: HeaderValues): ClaimsElsewhere {
  const [algorithm = '', ...pairs] = authorization.join(', ').split(/[, \t]+/)
  checkAlgorithm(algorithm)
  const given = uniquePairs(pairs)
  const date = single(headers, 'x-amz-date') ?? single(headers, 'date')
  const missing = ['Credential', 'Signature', 'SignedHeaders']
    .filter((name) => !given.get(name))
    .map((name) => `Authorization header requires '${name}' parameter.`)
  if (date === undefined) {
    missing.push(
      "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.",
    )
  }
  if (missing.length > 0) throw new SqsError('IncompleteSignatureException', missing.join(' '))
  return {
    isPresigned: false,
    credential: given.get('Credential') ?? '',
    signedHeaders: headerNames(given.get('SignedHeaders')),
    signature: given.get('Signature') ?? '',
    date: date ?? '',
    expires: undefined,
    securityToken: single(headers, 'x-amz-security-token'),
  }
}

function uniquePairs(pairs: readonly string[]): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = pair.slice(0, equals)
    if (equals < 1 || given.has(name)) {
      throw new SqsError(
        'IncompleteSignatureException',
        'Authorization header must have its parameters as key=value pairs, each only once.',
      )
    }
    given.set(name, pair.slice(equals + 1))
  }
  return given
}

const presigned = {
  algorithm: 'X-Amz-Algorithm',
  credential: 'X-Amz-Credential',
  signature: 'X-Amz-Signature',
  signedHeaders: 'X-Amz-SignedHeaders',
  date: 'X-Amz-Date',
} as const

const presignedOptions = ['X-Amz-Expires', 'X-Amz-Security-Token']

function claimsInQuery(
  query: readonly QueryParameter[],
): Omit<SignatureClaims, 'path' | 'headers'> {
  const given = authParameters(query)
  checkAlgorithm(given.get(presigned.algorithm) ?? '')
  const missing = Object.values(presigned)
    .filter((name) => !given.get(name))
    .map((name) => `AWS query-string parameters must include '${name}'.`)
  if (missing.length > 0) {
    const advice = 'Re-examine the query-string parameters.'
    throw new SqsError('IncompleteSignatureException', [...missing, advice].join(' '))
  }
  return {
    isPresigned: true,
    credential: given.get(presigned.credential) ?? '',
    signedHeaders: headerNames(given.get(presigned.signedHeaders)),
    signature: given.get(presigned.signature) ?? '',
    date: given.get(presigned.date) ?? '',
    expires: given.get('X-Amz-Expires'),
    securityToken: given.get('X-Amz-Security-Token'),
    query: query.filter(({ name }) => name !== presigned.signature),
  }
}

function authParameters(query: readonly QueryParameter[]): ReadonlyMap<string, string> {
  const names: readonly string[] = [...Object.values(presigned), ...presignedOptions]
  const given = new Map<string, string>()
  for (const { name, value } of query) {
    if (!names.includes(name)) continue
    if (given.has(name)) {
      throw new SqsError(
        'IncompleteSignatureException',
        `AWS query-string parameter '${name}' was given twice.`,
      )
    }
    given.set(name, decoded(value))
  }
  return given
}

function headerNames(list = ''): readonly string[] {
  return list.split(';')
}

/** Returns undefined if the header has more than one value. */
export function single(headers: HeaderValues, name: string): string | undefined {
  const [value, ...more] = headers.get(name) ?? []
  return more.length === 0 ? value : undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
