/** Opens all sealed texts in what a store returns. */
import { hash } from 'node:crypto'
import { decodeAttributes } from '../backends/message-attributes.ts'
import { type Cipher, isFingerprint } from './cipher.ts'
import { sealedAttributes } from './seal-requests.ts'

/** The same value with its sealed texts opened. What is neither text, list nor plain object stays as it is. */
export function opened<T>(cipher: Cipher, value: T): T {
  return openAny(cipher, value) as T
}

function openAny(cipher: Cipher, value: unknown): unknown {
  if (typeof value === 'string') return cipher.open(value)
  if (Array.isArray(value)) return value.map((member) => openAny(cipher, member))
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  const entries = Object.entries(value).map(([name, member]) => [name, openAny(cipher, member)])
  return withContentId(withAttributes(Object.fromEntries(entries)))
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Puts the attributes of a sealed message back into their place. */
function withAttributes(record: Record<string, unknown>): Record<string, unknown> {
  const { [sealedAttributes]: text, ...systemAttributes } = Object(record['systemAttributes'])
  if (typeof text !== 'string') return record
  return { ...record, attributes: decodeAttributes(text).attributes, systemAttributes }
}

/** Deduplication by content shows the digest of the content, which is not stored. */
function withContentId(record: Record<string, unknown>): Record<string, unknown> {
  const { deduplicationId, body } = record
  if (!isFingerprint(deduplicationId) || typeof body !== 'string') return record
  return { ...record, deduplicationId: hash('sha256', body) }
}
