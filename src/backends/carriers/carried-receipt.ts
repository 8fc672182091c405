/**
 * The receipt of a delivery by a carrier: the carrier's lease and, for a message that the store has leased
 * too, the receipt of the store.
 */

import { hash } from 'node:crypto'

export interface CarriedReceipt {
  readonly queue: string
  /** Names the lease at the carrier. */
  readonly handle: string
  /** By which a repeated delivery is recognised. */
  readonly carrierId: string
  /** How often the carrier had delivered the message. */
  readonly receiveCount: number
  /** Of the store; null for a message that only the carrier has. */
  readonly stored: string | null
}

const prefix = 'c1-'

export function formatReceipt(receipt: CarriedReceipt): string {
  const { queue, handle, carrierId, receiveCount, stored } = receipt
  const text = JSON.stringify([queue, handle, carrierId, receiveCount, stored])
  return `${prefix}${Buffer.from(text).toString('base64url')}.${digestOf(text)}`
}

/** Undefined for any other text, such as a receipt of the store alone. */
export function parseReceipt(text: string): CarriedReceipt | undefined {
  if (typeof text !== 'string' || !text.startsWith(prefix)) return undefined
  try {
    const [encoded = '', digest] = text.slice(prefix.length).split('.')
    const content = Buffer.from(encoded, 'base64url').toString()
    if (digestOf(content) !== digest) return undefined
    const parts: unknown = JSON.parse(content)
    const [queue, handle, carrierId, receiveCount, stored] = Array.isArray(parts) ? parts : []
    if (typeof queue !== 'string' || typeof handle !== 'string' || typeof carrierId !== 'string')
      return undefined
    if (typeof receiveCount !== 'number') return undefined
    return {
      queue,
      handle,
      carrierId,
      receiveCount,
      stored: typeof stored === 'string' ? stored : null,
    }
  } catch {
    return undefined
  }
}

/** Recognises changed receipts. The lease that a receipt names cannot be guessed. */
function digestOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 12)
}
