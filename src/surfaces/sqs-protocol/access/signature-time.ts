/** Checks the time of a signature, so that a recorded request cannot be replayed later. */
import { SqsError } from '../sqs-error.ts'
import type { SignatureClaims } from './signature-claims.ts'

/** How much clocks may differ. */
const skewMs = 15 * 60_000
/** The lifetime of a signing key: seven days. */
const expiresSecondsMax = 604_800

export function checkSignatureTime(
  { date, expires }: Pick<SignatureClaims, 'date' | 'expires'>,
  nowMs: number,
): void {
  const signedMs = basicTimeMs(date)
  if (signedMs === undefined) {
    throw new SqsError(
      'IncompleteSignatureException',
      "Date must be in ISO-8601 'basic format', e.g. 20260131T095959Z. " +
        'See http://en.wikipedia.org/wiki/ISO_8601',
    )
  }
  const life = expires === undefined ? skew : lifeOf(expires)
  const earliestMs = nowMs - life.ms
  const latestMs = nowMs + skewMs
  if (signedMs < earliestMs) {
    const limit = `${basicTime(earliestMs)} (${basicTime(nowMs)} - ${life.text}.)`
    throw new SqsError(
      'InvalidSignatureException',
      `Signature expired: ${date} is now earlier than ${limit}`,
    )
  }
  if (signedMs > latestMs) {
    const limit = `${basicTime(latestMs)} (${basicTime(nowMs)} + ${skew.text}.)`
    const message = `Signature not yet current: ${date} is still later than ${limit}`
    throw new SqsError('InvalidSignatureException', message)
  }
}

interface Life {
  readonly ms: number
  readonly text: string
}

const skew: Life = { ms: skewMs, text: `${skewMs / 60_000} min` }

function lifeOf(expires: string): Life {
  const seconds = /^\d{1,6}$/.test(expires) ? Number(expires) : 0
  if (seconds >= 1 && seconds <= expiresSecondsMax) {
    return { ms: seconds * 1_000, text: `${seconds} sec` }
  }
  throw new SqsError(
    'IncompleteSignatureException',
    `X-Amz-Expires must be a whole number of seconds from 1 to ${expiresSecondsMax}.`,
  )
}

function basicTimeMs(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? []
  const ms = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  )
  // `Date.UTC` turns an invalid day into one of the next month, so compare with the input.
  return !Number.isNaN(ms) && basicTime(ms) === text ? ms : undefined
}

function basicTime(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '')
}
