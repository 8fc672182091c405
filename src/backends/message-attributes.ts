/** Attributes of a message as one text, which is stored with it. */
import type { MessageAttribute, NewMessage } from '../core/message.ts'
import type { StoredMessage } from './stored-message.ts'

interface StoredAttributes {
  /** Name, type, value; bytes are base64, and a fourth member marks them. */
  readonly own?: readonly (readonly [string, string, string, 1?])[]
  readonly system?: Readonly<Record<string, string>>
}

export function encodeAttributes({ attributes, systemAttributes }: NewMessage): string | null {
  if (attributes === undefined && systemAttributes === undefined) return null
  const stored: StoredAttributes = {
    ...(attributes && { own: Object.entries(attributes).map(encodeAttribute) }),
    ...(systemAttributes && { system: systemAttributes }),
  }
  return JSON.stringify(stored)
}

function encodeAttribute([name, { type, value }]: [string, MessageAttribute]): readonly [
  string,
  string,
  string,
  1?,
] {
  if (typeof value === 'string') return [name, type, value]
  return [name, type, Buffer.from(value).toString('base64'), 1]
}

const noAttributes = { attributes: {}, systemAttributes: {} } as const

export function decodeAttributes(
  text: string | null,
): Pick<StoredMessage, 'attributes' | 'systemAttributes'> {
  if (text === null) return noAttributes
  const stored: StoredAttributes = JSON.parse(text)
  const own = (stored.own ?? []).map(([name, type, value, isBytes]) => [
    name,
    { type, value: isBytes === 1 ? new Uint8Array(Buffer.from(value, 'base64')) : value },
  ])
  return { attributes: Object.fromEntries(own), systemAttributes: stored.system ?? {} }
}
