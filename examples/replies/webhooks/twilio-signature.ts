/**
 * Twilio's signature of WhatsApp and SMS webhooks: an HMAC-SHA1 with the account's token over the public URL,
 * followed by the names and values of all form fields, sorted by name. A repeated field adds each of its
 * values, sorted.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface SignedForm {
  /** As the provider called it, with the query string. */
  readonly url: string
  readonly fields: readonly (readonly [string, string])[]
}

export function twilioSignature(authToken: string, { url, fields }: SignedForm): string {
  const values = new Map<string, Set<string>>()
  for (const [name, value] of fields) values.set(name, (values.get(name) ?? new Set()).add(value))
  const names = [...values.keys()].sort()
  const signed = names.map((name) => [...(values.get(name) ?? [])].sort().map((one) => name + one))
  return createHmac('sha1', authToken)
    .update(url + signed.flat().join(''))
    .digest('base64')
}

/** Accepts the URL with and without the port, because Twilio may sign either. */
export function isTwilioSignature(authToken: string, form: SignedForm, given: string): boolean {
  return [form.url, withPort(form.url), withoutPort(form.url)].some((url) =>
    isEqual(twilioSignature(authToken, { ...form, url }), given),
  )
}

function withPort(url: string): string {
  const { port, protocol } = new URL(url)
  return port === '' ? url.replace(authority, `$&:${protocol === 'https:' ? 443 : 80}`) : url
}

function withoutPort(url: string): string {
  return url.replace(authority, (all) => all.replace(/:\d+$/, ''))
}

const authority = /^https?:\/\/[^/?#]+/i

/** Compares in constant time. */
export function isEqual(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)]
  return one.length === other.length && timingSafeEqual(one, other)
}
