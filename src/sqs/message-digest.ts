/**
 * The MD5 sums in the responses of SQS to sends and receives. Clients verify them, so every byte and its
 * order matters.
 */
// A namespace import: an older Node must be able to load this file, to report that it is too old.
import crypto from 'node:crypto'
import type { MessageAttribute } from '../core/message.ts'

export function digestOfBody(body: string): string {
  return crypto.hash('md5', body)
}

/** The sum of the attributes; undefined without attributes, because SQS then returns none. */
export function digestOfAttributes(
  attributes: Readonly<Record<string, MessageAttribute>>,
): string | undefined {
  const names = Object.keys(attributes)
  if (names.length === 0) return undefined
  const parts: Uint8Array[] = []
  for (const name of names.sort()) {
    const attribute = attributes[name]
    if (attribute !== undefined) addAttribute(parts, name, attribute)
  }
  return crypto.hash('md5', Buffer.concat(parts))
}

/** SQS digests the trace header like an attribute of type String. */
export function digestOfTraceHeader(header: string): string {
  const parts: Uint8Array[] = []
  addAttribute(parts, 'AWSTraceHeader', { type: 'String', value: header })
  return crypto.hash('md5', Buffer.concat(parts))
}

/** Distinguishes strings from bytes with the same content. */
const textMark = Uint8Array.of(1)
const bytesMark = Uint8Array.of(2)

function addAttribute(parts: Uint8Array[], name: string, { type, value }: MessageAttribute): void {
  addCounted(parts, Buffer.from(name))
  addCounted(parts, Buffer.from(type))
  if (typeof value === 'string') {
    parts.push(textMark)
    addCounted(parts, Buffer.from(value))
  } else {
    parts.push(bytesMark)
    addCounted(parts, value)
  }
}

function addCounted(parts: Uint8Array[], bytes: Uint8Array): void {
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(bytes.byteLength)
  parts.push(length, bytes)
}
