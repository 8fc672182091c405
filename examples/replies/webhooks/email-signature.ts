/**
 * The signature of e-mail webhooks: `t=<seconds>,v1=<hex>`, where v1 is an HMAC-SHA256 over the time, a dot
 * and the body. A signature is valid for five minutes.
 */
import { createHmac } from 'node:crypto'
import { isEqual } from './twilio-signature.ts'

export const emailSignatureHeader = 'x-replies-signature'

const toleranceSeconds = 300

export function emailSignature(secret: string, body: string, atMs: number): string {
  const seconds = Math.floor(atMs / 1_000)
  return `t=${seconds},v1=${digest(secret, seconds, body)}`
}

export function isEmailSignature(
  secret: string,
  body: string,
  { given, nowMs }: { readonly given: string; readonly nowMs: number },
): boolean {
  const [, time, hex] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(given) ?? []
  if (time === undefined || hex === undefined) return false
  const seconds = Number(time)
  if (Math.abs(nowMs / 1_000 - seconds) > toleranceSeconds) return false
  return isEqual(digest(secret, seconds, body), hex)
}

function digest(secret: string, seconds: number, body: string): string {
  return createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
}
