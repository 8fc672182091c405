/** Seals stored texts with the present key: those of an earlier key, and those from before there was one. */
import type { ContentForm } from '../backends/key-store.ts'
import type { Cipher } from './cipher.ts'
import { sealedAttributes } from './seal-requests.ts'

/** The text to store instead; undefined if it is sealed with the present key already. */
export function resealed(cipher: Cipher, text: string, form: ContentForm): string | undefined {
  if (form === 'text') return cipher.reseal(text)
  const json = JSON.stringify(resealedJson(cipher, JSON.parse(text)))
  return json === text ? undefined : json
}

type Json = Readonly<Record<string, unknown>>

/** Fields that hold content: in work that waits to be sent, origins of dead letters, failures and log lines. */
const contentFields: ReadonlySet<string> = new Set([
  'body',
  'payload',
  'reason',
  'message',
  'stack',
])

function resealedJson(cipher: Cipher, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((member) => resealedJson(cipher, member))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    resealedMember(cipher, name, member),
  ])
  return withAttributesSealed(cipher, withSize(value as Json, Object.fromEntries(entries)))
}

function resealedMember(cipher: Cipher, name: string, member: unknown): unknown {
  if (name === 'fields') return resealedFields(cipher, Object(member))
  if (typeof member !== 'string') return resealedJson(cipher, member)
  // Attributes of a message that waits to be sent are a text of their own.
  if (name === 'encoded') return resealed(cipher, member, 'json') ?? member
  if (name === sealedAttributes || contentFields.has(name)) return cipher.reseal(member) ?? member
  return member
}

/** Of a log line: their names are the handler's own. */
function resealedFields(cipher: Cipher, fields: Json): Json {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? (cipher.reseal(value) ?? value) : value,
  ])
  return Object.fromEntries(entries)
}

/** Work that was kept in the clear has to say its size from now on. */
function withSize(before: Json, after: Json): Json {
  const content = before['body'] ?? before['payload']
  if (typeof content !== 'string' || after['sealed'] !== undefined) return after
  return { ...after, sealed: { bytes: Buffer.byteLength(content), fingerprints: [] } }
}

/** Attributes in the clear move to where those of a sealed message are. */
function withAttributesSealed(cipher: Cipher, stored: Json): Json {
  const { own, ...others } = stored
  if (!Array.isArray(own)) return stored
  const system = {
    ...Object(stored['system']),
    [sealedAttributes]: cipher.seal(JSON.stringify({ own })),
  }
  return { ...others, system }
}
