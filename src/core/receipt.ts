/**
 * A receipt names one delivery: the queue, the message and the lease's token. It is opaque to
 * callers; check digits tell a mangled receipt from one that was issued.
 */
export interface Receipt {
  readonly queueId: number
  readonly sequence: number
  readonly token: number
}

const prefix = 'r1-'
/** No longer receipt was ever issued, and none is read. */
const lengthMax = 64

/** A prime, so that any single digit that differs changes the remainder. */
const checkModulus = 9_999_991

/** Decimal, because that is what numbers are turned into and read from fastest. */
export function formatReceipt({ queueId, sequence, token }: Receipt): string {
  return `${prefix}${queueId}-${sequence}-${token}-${checkNumber(queueId, sequence, token)}`
}

/** The receipt's parts, or undefined when no store can have issued it. */
export function parseReceipt(text: string): Receipt | undefined {
  if (text.length > lengthMax || !text.startsWith(prefix)) return undefined
  const sequenceAt = text.indexOf('-', prefix.length) + 1
  const tokenAt = text.indexOf('-', sequenceAt) + 1
  const checkAt = text.indexOf('-', tokenAt) + 1
  const queueId = wholeNumber(text, prefix.length, sequenceAt - 1)
  const sequence = wholeNumber(text, sequenceAt, tokenAt - 1)
  const token = wholeNumber(text, tokenAt, checkAt - 1)
  const check = wholeNumber(text, checkAt, text.length)
  // A part that is no number makes this one unequal to anything.
  return check === checkNumber(queueId, sequence, token) ? { queueId, sequence, token } : undefined
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

function checkNumber(queueId: number, sequence: number, token: number): number {
  const a = queueId % checkModulus
  const b = sequence % checkModulus
  const c = token % checkModulus
  // Each factor is small enough for the sum to stay a whole number.
  return (a * 31 + b * 1_009 + c * 65_537 + 7) % checkModulus
}
