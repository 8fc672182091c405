/**
 * A receipt names one delivery: the queue, the message and the lease's token. Those are numbers that rise
 * one by one, so a receipt ends in a code that only its store can compute: a receiver cannot work out the
 * receipts of others from its own.
 */
export interface Receipt {
  readonly queueId: number
  readonly sequence: number
  readonly token: number
}

const prefix = 'r2-'
/** Of receipts without such a code, which stores gave out before they had a key. */
const formerPrefix = 'r1-'
/** No longer receipt was ever issued, and none is read. */
const lengthMax = 80

/** The numbers of a receipt in 32 bits each, and the length of the whole; used again for each code. */
const wordCount = 5
const words = new Int32Array(wordCount)
words[4] = 16 << 24

/** The latest code. Numbers of up to 30 bits are what the runtime turns into text fastest. */
const bits30 = 2 ** 30 - 1
let codeFirst = 0
let codeSecond = 0

/** Whether a text has the form of a receipt. Only its store can tell whether it has issued it. */
export function looksLikeReceipt(text: string): boolean {
  return partsOf(text) !== undefined
}

/** The receipts of one store. */
export class Receipts {
  readonly #low: number
  readonly #high: number
  readonly #formerTokenMax: number

  /**
   * @param key 16 random hexadecimal digits, the same for the life of a store, and secret
   * @param formerTokenMax the last token that was given out without a code
   */
  constructor(key: string, formerTokenMax = -1) {
    this.#formerTokenMax = formerTokenMax
    this.#low = Number.parseInt(key.slice(0, 8), 16) | 0
    this.#high = Number.parseInt(key.slice(8, 16), 16) | 0
  }

  /** Decimal, because that is what numbers are turned into and read from fastest. */
  format(receipt: Receipt): string {
    const { queueId, sequence, token } = receipt
    // A receive that is repeated returns the receipts of the first one.
    if (token <= this.#formerTokenMax) {
      return `${formerPrefix}${queueId}-${sequence}-${token}-${formerCode(receipt)}`
    }
    this.#computeCode(queueId, sequence, token)
    return `${prefix}${queueId}-${sequence}-${token}-${codeFirst}.${codeSecond}`
  }

  /** The receipt's parts, or undefined when this store has not issued it. */
  parse(text: string): Receipt | undefined {
    const parts = partsOf(text)
    if (parts === undefined) return undefined
    const { queueId, sequence, token, code } = parts
    if (parts.isFormer) {
      const isKnown = token <= this.#formerTokenMax && code === formerCode(parts)
      return isKnown ? { queueId, sequence, token } : undefined
    }
    this.#computeCode(queueId, sequence, token)
    return code === codeFirst && parts.second === codeSecond
      ? { queueId, sequence, token }
      : undefined
  }

  /**
   * HalfSipHash-1-3 of the numbers, as twice 30 bits: made for short inputs and 32-bit arithmetic. Every delivery
   * and every acknowledgement computes one; an HMAC of node:crypto takes ten times as long.
   */
  #computeCode(queueId: number, sequence: number, token: number): void {
    words[0] = queueId
    words[1] = sequence
    words[2] = token
    // The upper bits of both: neither has more than 48.
    words[3] = Math.floor(sequence / 2 ** 32) * 2 ** 16 + Math.floor(token / 2 ** 32)
    let v0 = this.#low
    let v1 = this.#high ^ 0xee
    let v2 = 0x6c796765 ^ this.#low
    let v3 = 0x74656462 ^ this.#high
    // A round for each word, and then twice three to finish 32 bits each.
    for (let round = 0; round < wordCount + 6; round += 1) {
      const word = round < wordCount ? (words[round] ?? 0) : 0
      v3 ^= word
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
      v0 ^= word
      if (round === wordCount - 1) v2 ^= 0xee
      if (round === wordCount + 2) {
        codeFirst = (v1 ^ v3) & bits30
        v1 ^= 0xdd
      }
    }
    codeSecond = (v1 ^ v3) & bits30
  }
}

interface ReceiptParts extends Receipt {
  readonly code: number
  /** The second half of the code; 0 in a receipt of the former form. */
  readonly second: number
  readonly isFormer: boolean
}

/** Check digits, which anyone can compute. */
function formerCode({ queueId, sequence, token }: Receipt): number {
  const modulus = 9_999_991
  const sum = (queueId % modulus) * 31 + (sequence % modulus) * 1_009 + (token % modulus) * 65_537
  return (sum + 7) % modulus
}

function partsOf(text: string): ReceiptParts | undefined {
  const isFormer = text.startsWith(formerPrefix)
  if (text.length > lengthMax || (!isFormer && !text.startsWith(prefix))) return undefined
  const sequenceAt = text.indexOf('-', prefix.length) + 1
  const tokenAt = text.indexOf('-', sequenceAt) + 1
  const codeAt = text.indexOf('-', tokenAt) + 1
  const queueId = wholeNumber(text, prefix.length, sequenceAt - 1)
  const sequence = wholeNumber(text, sequenceAt, tokenAt - 1)
  const token = wholeNumber(text, tokenAt, codeAt - 1)
  const secondAt = isFormer ? text.length + 1 : text.indexOf('.', codeAt) + 1
  const code = wholeNumber(text, codeAt, secondAt - 1)
  const second = isFormer ? 0 : wholeNumber(text, secondAt, text.length)
  // A part that is no number makes the sum none.
  return Number.isNaN(queueId + sequence + token + code + second)
    ? undefined
    : { queueId, sequence, token, code, second, isFormer }
}

/** Reads digits by hand, because every acknowledgement comes through here; NaN for anything else. */
function wholeNumber(text: string, from: number, to: number): number {
  let number = 0
  for (let index = from; index < to; index += 1) {
    const digit = text.charCodeAt(index) - 48
    if (!(digit >= 0 && digit <= 9) || (number === 0 && index > from)) return Number.NaN
    number = number * 10 + digit
  }
  return to > from && number <= Number.MAX_SAFE_INTEGER ? number : Number.NaN
}
