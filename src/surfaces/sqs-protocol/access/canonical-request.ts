/**
 * The canonical request of Signature Version 4. It is built from the received bytes, so that exactly the
 * bytes that a parser reads later are the signed ones.
 */
// A namespace import: an older Node must be able to load this file, to report that it is too old.
import crypto from 'node:crypto'

/** A request without its body. */
export interface RequestHead {
  readonly method: string
  /** Path and query as in the request line. */
  readonly url: string
  /** Alternating names and values, as in `IncomingMessage.rawHeaders`. */
  readonly rawHeaders: readonly string[]
}

export interface QueryParameter {
  readonly name: string
  readonly value: string
}

/** By lower-case name. The values of a name are in the order of arrival. */
export type HeaderValues = ReadonlyMap<string, readonly string[]>

export interface CanonicalParts {
  readonly method: string
  readonly path: string
  /** Encoded by `queryParameters`. */
  readonly query: readonly QueryParameter[]
  readonly headers: HeaderValues
  readonly signedHeaders: readonly string[]
  readonly payloadSha256: string
}

/** Returns undefined if a signed header is missing. */
export function canonicalRequest(parts: CanonicalParts): string | undefined {
  const { method, path, query, headers, signedHeaders, payloadSha256 } = parts
  let headerLines = ''
  for (const name of signedHeaders) {
    const values = headers.get(name)
    if (values === undefined) return undefined
    headerLines += `${name}:${values.map(withSingleSpaces).join(',')}\n`
  }
  const lines = [method, canonicalPath(path), sortedQuery(query), headerLines]
  return `${lines.join('\n')}\n${signedHeaders.join(';')}\n${payloadSha256}`
}

export function headerValues(rawHeaders: readonly string[]): HeaderValues {
  const values = new Map<string, string[]>()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    const value = rawHeaders[at + 1] ?? ''
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  return values
}

/** One header, with several values joined, without a map of all headers. */
export function headerValue(rawHeaders: readonly string[], name: string): string | undefined {
  let found: string | undefined
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? ''
    // Comparing the length first skips most headers.
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    const value = rawHeaders[at + 1] ?? ''
    found = found === undefined ? value : `${found}, ${value}`
  }
  return found
}

/** The parameters of a query string, in the encoding that signatures use. */
export function queryParameters(query: string): readonly QueryParameter[] {
  if (query === '') return []
  return query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=')
      const [name, value] =
        equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)]
      return { name: encodedAgain(name), value: encodedAgain(value) }
    })
}

/** Strings are hashed as latin1: Node has one character per byte in headers and URLs. */
export function sha256Hex(data: string | Uint8Array): string {
  return crypto.hash('sha256', typeof data === 'string' ? Buffer.from(data, 'latin1') : data, 'hex')
}

/** Signers remove empty and dotted parts, and encode the encoded path again. */
function canonicalPath(path: string): string {
  const plain = /\/\/|\/\./.test(path) ? withoutDots(path) : path
  return plain === '' ? '/' : plain.replace(/[^A-Za-z0-9\-._~/]/g, percentEncoded)
}

function withoutDots(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  const end = parts.length > 0 && path.endsWith('/') ? '/' : ''
  return `/${parts.join('/')}${end}`
}

function sortedQuery(query: readonly QueryParameter[]): string {
  return query
    .toSorted((one, other) => order(one.name, other.name) || order(one.value, other.value))
    .map(({ name, value }) => `${name}=${value}`)
    .join('&')
}

function order(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

function withSingleSpaces(value: string): string {
  return /^\s|\s$|\s\s|\t/.test(value) ? value.trim().replace(/\s+/g, ' ') : value
}

/** Different encodings of the same text become equal. A plus is a space, as in query parsers. */
function encodedAgain(text: string): string {
  return /^[\w.~-]*$/.test(text)
    ? text
    : text.replace(/%[0-9A-Fa-f]{2}|[^\w.~-]/g, (found) => {
        if (found === '+') return '%20'
        // An invalid escape, which no signer writes.
        if (found === '%') return found
        if (found.length < 3) return percentEncoded(found)
        const byte = String.fromCharCode(Number.parseInt(found.slice(1), 16))
        return /[\w.~-]/.test(byte) ? byte : found.toUpperCase()
      })
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
