/**
 * What a message may contain, checked the same way for every backend and surface. This runs
 * for every message sent, so the common case (a body, no attributes) allocates nothing.
 */
import { checkDelayFits } from './check-queue.ts'
import {
  checkLength,
  checkRange,
  checkStringRecord,
  describeGiven,
  type Violations,
} from './checks.ts'
import type { ErrorCode } from './error-codes.ts'
import { limits } from './limits.ts'
import type { MessageAttribute, NewMessage } from './message.ts'
import { MillraceError } from './millrace-error.ts'

/** The settings of a queue that decide what it takes. */
export interface MessageRules {
  readonly type: 'standard' | 'fifo'
  readonly messageBytesMax: number
  readonly deduplicateByContent: boolean
  readonly delayMs: number
  readonly retentionMs: number
}

/** How long a message of a queue waits before it can be received, if it is sent now. */
export function delayOf(
  { delayMs, runAt }: Pick<NewMessage, 'delayMs' | 'runAt'>,
  rules: Pick<MessageRules, 'type' | 'delayMs'>,
  now: number,
): number {
  if (rules.type === 'fifo') return rules.delayMs
  if (runAt !== undefined) return Math.max(0, runAt - now)
  return delayMs ?? rules.delayMs
}

/** Whether a delay is longer than SQS allows: retention then begins when the delay ends. */
export function isLongDelay(delayMs: number): boolean {
  return delayMs > limits.delayMs.max
}

/** Anything outside the character set of XML 1.0, lone surrogates included. */
export const forbiddenCharacter: RegExp = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u
/**
 * Whatever may be forbidden, found by a pattern that looks at code units: far faster than the exact
 * one, which then only has to judge texts with surrogates or control characters.
 */
const suspiciousUnit = new RegExp(
  `[${unitRange(0x0, 0x8)}${unitRange(0xb, 0xc)}${unitRange(0xe, 0x1f)}${unitRange(0xd800, 0xdfff)}${unitRange(0xfffe, 0xffff)}]`,
)
export const attributeNamePattern: RegExp = /^[\p{L}\p{N}_.-]+$/u
export const reservedNamePattern: RegExp = /^(aws|amazon|millrace)\./i
const attributeType = /^(String|Number|Binary)(\.[^\s]{1,249})?$/
export const attributeNumberPattern: RegExp = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$/
/** Letters, digits and the printable punctuation of ASCII. */
export const idPattern: RegExp = /^[\x21-\x7E]+$/

const encoder = new TextEncoder()

/**
 * Why a queue would refuse this message, or undefined when it takes it.
 *
 * @param now the time of the store
 * @param isJob whether the message is that of a job, which retention does not concern
 */
export function refuseMessage(
  message: NewMessage,
  rules: MessageRules,
  now: number,
  isJob = false,
): MillraceError | undefined {
  const { attributes, systemAttributes, delayMs, runAt, group, deduplicationId } = message
  const refusal = message.sealed === undefined ? refuseBody(message) : undefined
  if (refusal !== undefined) return refusal
  const isPlain = attributes === undefined && systemAttributes === undefined && group === undefined
  const mayBePlain = rules.delayMs === 0 && delayMs === undefined && runAt === undefined
  if (isPlain && mayBePlain && deduplicationId === undefined) {
    return refuseForType(message, rules) ?? refuseForSize(message, rules.messageBytesMax)
  }
  const violations: Violations = []
  if (delayMs !== undefined) checkRange(violations, 'delayMs', delayMs, limits.messageDelayMs)
  if (runAt !== undefined) checkRunAt(violations, message, now)
  if (violations.length === 0 && !isJob) checkDelay(violations, delayOf(message, rules, now), rules)
  if (attributes !== undefined) checkAttributes(violations, attributes)
  if (systemAttributes !== undefined) {
    checkStringRecord(violations, 'systemAttributes', systemAttributes)
  }
  if (group !== undefined) checkId(violations, 'group', group, limits.groupLength.max)
  if (deduplicationId !== undefined) {
    checkId(violations, 'deduplicationId', deduplicationId, limits.deduplicationIdLength.max)
  }
  checkAgainstType(violations, message, rules)
  if (violations.length > 0) return MillraceError.invalid(violations)
  return refuseForType(message, rules) ?? refuseForSize(message, rules.messageBytesMax)
}

function refuseBody({ body }: NewMessage): MillraceError | undefined {
  if (typeof body !== 'string' || body === '') {
    return invalid(
      'body',
      typeof body === 'string' ? 'an empty string' : describeGiven(body),
      'a non-empty string',
    )
  }
  if (!hasForbiddenCharacter(body)) return undefined
  return invalid(
    'body',
    'a character outside the set',
    'the characters of XML 1.0',
    'invalid_message',
  )
}

/** Whether any queue may take the body and the attributes, apart from their size. */
export function isContentValid(message: NewMessage): boolean {
  const violations: Violations = []
  if (message.attributes !== undefined) checkAttributes(violations, message.attributes)
  return violations.length === 0 && refuseBody(message) === undefined
}

function checkRunAt(into: Violations, { runAt, delayMs }: NewMessage, now: number): void {
  if (delayMs !== undefined) {
    into.push({ field: 'runAt', given: 'both', allowed: 'runAt or delayMs, not both' })
  }
  checkRange(into, 'runAt', runAt, { min: 0, max: now + limits.messageDelayMs.max, unit: 'ms' })
}

/** The retention of a message begins when it is sent or, after a long delay, when that ends. */
function checkDelay(into: Violations, delayMs: number, { retentionMs }: MessageRules): void {
  if (!isLongDelay(delayMs)) checkDelayFits(into, 'delayMs', { delayMs, retentionMs })
}

/** Bytes that count towards the size limit: the body, and names, types and values of attributes. */
export function messageBytes({ body, attributes, sealed }: NewMessage): number {
  if (sealed !== undefined) return sealed.bytes
  let bytes = textBytes(body)
  for (const [name, { type, value }] of Object.entries(attributes ?? {})) {
    bytes += textBytes(name) + textBytes(type)
    bytes += typeof value === 'string' ? textBytes(value) : value.byteLength
  }
  return bytes
}

function textBytes(text: string): number {
  return encoder.encode(text).byteLength
}

function unitRange(from: number, to: number): string {
  const escaped = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`
  return `${escaped(from)}-${escaped(to)}`
}

export function hasForbiddenCharacter(text: string): boolean {
  return suspiciousUnit.test(text) && forbiddenCharacter.test(text)
}

function refuseForSize(message: NewMessage, bytesMax: number): MillraceError | undefined {
  // UTF-16 units need at most three bytes each, so short bodies need not be measured.
  if (message.attributes === undefined && message.body.length * 3 <= bytesMax) return undefined
  const bytes = messageBytes(message)
  if (bytes <= bytesMax) return undefined
  const violation = {
    field: 'message',
    given: `${bytes} bytes`,
    allowed: `at most ${bytesMax} bytes`,
  }
  return MillraceError.invalid([violation], 'message_too_large')
}

function refuseForType(message: NewMessage, rules: MessageRules): MillraceError | undefined {
  if (rules.type === 'standard') return undefined
  if (message.group === undefined) return new MillraceError('message_group_missing')
  if (message.deduplicationId === undefined && !rules.deduplicateByContent) {
    return new MillraceError('deduplication_id_missing')
  }
  return undefined
}

function checkAgainstType(into: Violations, message: NewMessage, rules: MessageRules): void {
  const { delayMs, runAt, deduplicationId } = message
  const allowed = 'none on a FIFO queue, whose delay is a setting of the queue'
  if (rules.type === 'fifo' && delayMs !== undefined && delayMs > 0) {
    into.push({ field: 'delayMs', given: String(delayMs), allowed })
  }
  if (rules.type === 'fifo' && runAt !== undefined) {
    into.push({ field: 'runAt', given: String(runAt), allowed })
  }
  if (rules.type === 'standard' && deduplicationId !== undefined) {
    into.push({
      field: 'deduplicationId',
      given: describeGiven(deduplicationId),
      allowed: 'none on a standard queue',
    })
  }
}

function checkAttributes(
  into: Violations,
  attributes: Readonly<Record<string, MessageAttribute>>,
): void {
  const entries = Object.entries(attributes)
  if (entries.length > limits.attributesPerMessage.max) {
    into.push({
      field: 'attributes',
      given: `${entries.length} attributes`,
      allowed: `at most ${limits.attributesPerMessage.max}`,
    })
  }
  for (const [name, attribute] of entries) {
    checkAttributeName(into, name)
    checkAttributeValue(into, `attributes.${name.slice(0, 40)}`, attribute)
  }
}

function checkAttributeName(into: Violations, name: string): void {
  checkLength(into, 'attributes: name', name, limits.attributeNameLength)
  const dotted = name.startsWith('.') || name.endsWith('.') || name.includes('..')
  if (!attributeNamePattern.test(name) || dotted || reservedNamePattern.test(name)) {
    into.push({
      field: 'attributes: name',
      given: describeGiven(name),
      allowed:
        "letters, digits, _ - and single dots inside; not starting with 'aws.', 'amazon.' or 'millrace.'",
    })
  }
}

function checkAttributeValue(into: Violations, field: string, attribute: MessageAttribute): void {
  const { type, value } = attribute
  const base = typeof type === 'string' ? attributeType.exec(type)?.[1] : undefined
  if (base === undefined) {
    into.push({
      field: `${field}.type`,
      given: describeGiven(type),
      allowed: 'String, Number or Binary, with an optional suffix such as Number.float',
    })
    return
  }
  if (base === 'Binary') {
    if (value instanceof Uint8Array && value.byteLength > 0) return
    into.push({ field, given: 'another value', allowed: 'non-empty bytes (Uint8Array)' })
    return
  }
  if (typeof value !== 'string' || value === '' || hasForbiddenCharacter(value)) {
    into.push({
      field,
      given: 'another value',
      allowed: 'a non-empty string of XML 1.0 characters',
    })
  } else if (base === 'Number' && !attributeNumberPattern.test(value)) {
    into.push({ field, given: 'text that is no number', allowed: 'a decimal number as text' })
  }
}

function checkId(into: Violations, field: string, value: unknown, lengthMax: number): void {
  if (typeof value === 'string' && value.length <= lengthMax && idPattern.test(value)) return
  into.push({
    field,
    given: describeGiven(value),
    allowed: `1 to ${lengthMax} letters, digits and punctuation marks`,
  })
}

function invalid(field: string, given: string, allowed: string, code?: ErrorCode): MillraceError {
  return MillraceError.invalid([{ field, given, allowed }], code)
}
