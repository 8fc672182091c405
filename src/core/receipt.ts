/**
 * A receipt names one delivery: the queue, the message and the lease's token. It is opaque to
 * callers; check digits tell a mangled receipt from one that was issued.
 */
export interface Receipt {
  readonly queueId: number
  readonly sequence: number
  readonly token: number
}

/** Decimal, because that is what numbers are turned into and read from fastest. */
const form = /^r1-\d{1,16}-\d{1,16}-\d{1,16}-\d{1,7}$/

/** A prime, so that any single digit that differs changes the remainder. */
const checkModulus = 9_999_991

export function formatReceipt({ queueId, sequence, token }: Receipt): string {
  const check = checkNumber(queueId, sequence, token)
  return `r1-${queueId}-${sequence}-${token}-${check}`
}

/** The receipt's parts, or undefined when no store can have issued it. */
export function parseReceipt(text: string): Receipt | undefined {
  if (!form.test(text)) return undefined
  const sequenceAt = text.indexOf('-', 3) + 1
  const tokenAt = text.indexOf('-', sequenceAt) + 1
  const checkAt = text.indexOf('-', tokenAt) + 1
  const queueId = Number(text.slice(3, sequenceAt - 1))
  const sequence = Number(text.slice(sequenceAt, tokenAt - 1))
  const token = Number(text.slice(tokenAt, checkAt - 1))
  const check = Number(text.slice(checkAt))
  const isWhole =
    Number.isSafeInteger(queueId) && Number.isSafeInteger(sequence) && Number.isSafeInteger(token)
  return isWhole && check === checkNumber(queueId, sequence, token)
    ? { queueId, sequence, token }
    : undefined
}

function checkNumber(queueId: number, sequence: number, token: number): number {
  const a = queueId % checkModulus
  const b = sequence % checkModulus
  const c = token % checkModulus
  // Each factor is small enough for the sum to stay a whole number.
  return (a * 31 + b * 1_009 + c * 65_537 + 7) % checkModulus
}
