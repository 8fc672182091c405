import { InvalidArgumentError } from 'commander'
import type { MessageAttribute } from '../../core/message.ts'

export type Attributes = Readonly<Record<string, MessageAttribute>>

/** `name=value` is a String; `name:Number=1` and `name:Binary=<base64>` name their type. */
export function attribute(text: string, before: Attributes = {}): Attributes {
  const at = text.indexOf('=')
  const [name = '', type = 'String'] = text.slice(0, Math.max(at, 0)).split(':', 2)
  if (name === '') throw new InvalidArgumentError('Use the form name=value.')
  const value = text.slice(at + 1)
  const isBytes = type === 'Binary' || type.startsWith('Binary.')
  return { ...before, [name]: { type, value: isBytes ? bytesOf(value) : value } }
}

function bytesOf(base64: string): Uint8Array {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') === base64) return bytes
  throw new InvalidArgumentError('The value of a Binary attribute must be base64.')
}
