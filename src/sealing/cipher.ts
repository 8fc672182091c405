/**
 * Seals texts with AES-256-GCM and opens them again. A sealed text names its key, so that several keys can be
 * in use while one replaces another. It begins with a character that no message and no JSON text begins with:
 * texts that were stored before there was a key are recognised without a flag.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomFillSync,
} from 'node:crypto'
import { MillraceError } from '../core/millrace-error.ts'

export interface CipherKey {
  /** 1 to 32 letters, digits and `_ . -`. It is stored with every text that the key seals. */
  readonly id: string
  /** 32 bytes. */
  readonly key: Uint8Array
}

/** The first key seals. The others only open texts that they have sealed. */
export type CipherKeys = readonly [CipherKey, ...CipherKey[]]

const mark = '\u0001v1:'
/** Begins a fingerprint. */
const fingerprintMark = '\u0001f:'
/** A sealed text, also inside of another text. */
const sealedText = new RegExp(`${mark}[^:]+:[A-Za-z0-9+/=]+`, 'g')
const nonceBytes = 12
const tagBytes = 16

/** Nonces that are drawn at once: random bytes are cheap in bulk. */
const noncesAtOnce = 256

interface Key {
  readonly id: string
  readonly bytes: Uint8Array
  readonly fingerprints: Uint8Array
}

/** Seals with the first key, and opens with all of them. */
export class Cipher {
  readonly #sealing: Key
  readonly #keys: ReadonlyMap<string, Key>
  readonly #nonces = Buffer.alloc(nonceBytes * noncesAtOnce)
  #nextNonce = noncesAtOnce

  constructor(keys: CipherKeys) {
    this.#sealing = keyOf(keys[0])
    this.#keys = new Map(keys.map((key) => [key.id, keyOf(key)]))
  }

  get sealingKey(): string {
    return this.#sealing.id
  }

  get keyIds(): readonly string[] {
    return [...this.#keys.keys()]
  }

  seal(text: string): string {
    const { id, bytes } = this.#sealing
    const nonce = this.#nonce()
    const cipher = createCipheriv('aes-256-gcm', bytes, nonce)
    cipher.setAAD(Buffer.from(id))
    const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return `${mark}${id}:${Buffer.concat(sealed).toString('base64')}`
  }

  /** The text with what is sealed in it opened. Throws `encryption_failed`. */
  open(text: string): string {
    // A store may have put a sealed reason into a sentence of its own.
    return text.includes(mark) ? text.replace(sealedText, (sealed) => this.#open(sealed)) : text
  }

  #open(text: string): string {
    const id = keyIdOf(text) ?? ''
    const key = this.#keys.get(id)
    if (key === undefined) {
      throw new MillraceError('encryption_failed', {
        message: `A text in the store is sealed with the key '${id}', which is not given.`,
      })
    }
    const sealed = Buffer.from(text.slice(mark.length + id.length + 1), 'base64')
    const end = sealed.length - tagBytes
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, sealed.subarray(0, nonceBytes))
      decipher.setAAD(Buffer.from(id))
      decipher.setAuthTag(sealed.subarray(end))
      return Buffer.concat([
        decipher.update(sealed.subarray(nonceBytes, end)),
        decipher.final(),
      ]).toString()
    } catch {
      throw new MillraceError('encryption_failed')
    }
  }

  /** The same text sealed with the present key; undefined if it is that already. */
  reseal(text: string): string | undefined {
    return keyIdOf(text) === this.#sealing.id ? undefined : this.seal(this.open(text))
  }

  /**
   * Values by which equal texts are recognised: the first one is stored. The others are those of earlier keys.
   */
  fingerprints(text: string): readonly string[] {
    return [...this.#keys.values()].map((key) => {
      const digest = createHmac('sha256', key.fingerprints).update(text).digest('base64url')
      return `${fingerprintMark}${digest}`
    })
  }

  #nonce(): Buffer {
    if (this.#nextNonce === noncesAtOnce) {
      randomFillSync(this.#nonces)
      this.#nextNonce = 0
    }
    const start = nonceBytes * this.#nextNonce++
    // A copy: the memory is filled again later.
    return Buffer.from(this.#nonces.subarray(start, start + nonceBytes))
  }
}

/** Whether an id is not the sender's, but comes from the content of a sealed message. */
export function isFingerprint(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(fingerprintMark)
}

/** The key that a text is sealed with; undefined if it is not sealed. */
export function keyIdOf(text: string): string | undefined {
  if (!text.startsWith(mark)) return undefined
  return text.slice(mark.length, text.indexOf(':', mark.length))
}

function keyOf({ id, key }: CipherKey): Key {
  // Fingerprints are stored in the clear, so they have a key of their own.
  const fingerprints = new Uint8Array(hkdfSync('sha256', key, '', 'millrace fingerprints', 32))
  return { id, bytes: key, fingerprints }
}

/** Recognises a key without revealing it. */
export function keyCheck({ key }: CipherKey): string {
  const derived = new Uint8Array(hkdfSync('sha256', key, '', 'millrace key check', 32))
  return hash('sha256', Buffer.from(derived), 'base64url')
}
