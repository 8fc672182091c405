/**
 * The MD5 sums with which SQS answers sends and receives. Clients compare them with their own, so
 * every byte and its order counts.
 */
// Not by name: an older Node must get as far as saying that it is too old.
import crypto from 'node:crypto'
import type { MessageAttribute } from '../core/message.ts'

export function digestOfBody(body: string): string {
  return crypto.hash('md5', body)
}

/** Of the attributes that are given; undefined when there are none, since SQS then answers no sum. */
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

/** SQS takes the trace header for an attribute of type String, and digests it like one. */
export function digestOfTraceHeader(header: string): string {
  const parts: Uint8Array[] = []
  addAttribute(parts, 'AWSTraceHeader', { type: 'String', value: header })
  return crypto.hash('md5', Buffer.concat(parts))
}

/** Tells text from bytes where lengths and contents could be equal. */
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
