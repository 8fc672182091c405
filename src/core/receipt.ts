/**
 * A receipt names one delivery: the queue, the message and the lease's token. It is opaque to
 * callers; a check digit tells a mangled receipt from one that was issued.
 */
export interface Receipt {
  readonly queueId: number
  readonly sequence: number
  readonly token: number
}

const form = /^r1-([0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-z]{1,7})$/

export function formatReceipt({ queueId, sequence, token }: Receipt): string {
  const check = checkDigits(queueId, sequence, token)
  return `r1-${queueId.toString(36)}-${sequence.toString(36)}-${token.toString(36)}-${check}`
}

/** The receipt's parts, or undefined when no store can have issued it. */
export function parseReceipt(text: string): Receipt | undefined {
  const match = form.exec(text)
  if (match === null) return undefined
  const [, queueText = '', sequenceText = '', tokenText = '', check] = match
  const queueId = Number.parseInt(queueText, 36)
  const sequence = Number.parseInt(sequenceText, 36)
  const token = Number.parseInt(tokenText, 36)
  const safe = [queueId, sequence, token].every(Number.isSafeInteger)
  return safe && checkDigits(queueId, sequence, token) === check
    ? { queueId, sequence, token }
    : undefined
}

function checkDigits(queueId: number, sequence: number, token: number): string {
  let hash = 0x811c9dc5
  for (const part of [queueId, sequence, token]) {
    hash = Math.imul(hash ^ (part >>> 0), 0x01000193)
    hash = Math.imul(hash ^ Math.floor(part / 2 ** 32), 0x01000193)
  }
  return ((hash ^ (hash >>> 15)) >>> 0).toString(36)
}
