/**
 * A receipt names one delivery: the queue, the message and the lease's token. It is opaque to
 * callers; check digits tell a mangled receipt from one that was issued.
 */
export interface Receipt {
  readonly queueId: number
  readonly sequence: number
  readonly token: number
}

const form = /^r1-[0-9a-z]{1,11}-[0-9a-z]{1,11}-[0-9a-z]{1,11}-[0-9a-z]{1,4}$/

/** The largest prime below 36^4: any single digit that differs changes the remainder. */
const checkModulus = 1_679_609

export function formatReceipt({ queueId, sequence, token }: Receipt): string {
  const check = checkNumber(queueId, sequence, token)
  return `r1-${queueId.toString(36)}-${sequence.toString(36)}-${token.toString(36)}-${check.toString(36)}`
}

/** The receipt's parts, or undefined when no store can have issued it. */
export function parseReceipt(text: string): Receipt | undefined {
  if (!form.test(text)) return undefined
  const sequenceAt = text.indexOf('-', 3) + 1
  const tokenAt = text.indexOf('-', sequenceAt) + 1
  const checkAt = text.indexOf('-', tokenAt) + 1
  const queueId = Number.parseInt(text.slice(3, sequenceAt - 1), 36)
  const sequence = Number.parseInt(text.slice(sequenceAt, tokenAt - 1), 36)
  const token = Number.parseInt(text.slice(tokenAt, checkAt - 1), 36)
  const check = Number.parseInt(text.slice(checkAt), 36)
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
