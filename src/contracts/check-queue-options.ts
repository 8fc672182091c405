/**
 * The settings of one declared queue, each checked on its own. What was declared may come from
 * plain JavaScript, so nothing is taken for granted.
 */
import { checkQueueName, checkTags, isFifoName } from '../core/check-queue.ts'
import { checkOneOf, checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { type Duration, durationMs, formatDuration } from '../core/durations.ts'
import { limits, type Range } from '../core/limits.ts'
import { didYouMean } from './did-you-mean.ts'
import type { DeclaredQueue } from './queue-declaration.ts'

type Fields = Readonly<Record<string, unknown>>

const durations: Readonly<Record<string, Range>> = {
  delay: limits.delayMs,
  visibilityTimeout: limits.visibilityMs,
  retention: limits.retentionMs,
  receiveWait: limits.receiveWaitMs,
}

const fifoOnly: readonly string[] = ['deduplication', 'deduplicationScope']
const standardKeys: readonly string[] = [
  'message',
  'name',
  ...Object.keys(durations),
  'maxMessageBytes',
  'deadLetter',
  'tags',
]
const fifoKeys: readonly string[] = [...standardKeys, ...fifoOnly]

/** Whether it is a queue at all; what is wrong inside is added to the violations. */
export function checkQueueOptions(
  into: Violations,
  field: string,
  declared: unknown,
): declared is DeclaredQueue {
  if (!isRecord(declared) || !isRecord(declared['options']) || !isQueueType(declared['type'])) {
    into.push({ field, given: describeGiven(declared), allowed: 'queue({...}) or fifo({...})' })
    return false
  }
  const { type, options } = { type: declared['type'], options: declared['options'] }
  checkKeys(into, field, options, type === 'fifo' ? fifoKeys : standardKeys)
  checkEach(into, field, options, {
    message: checkSchema,
    name: (to, at, value) => checkName(to, at, { type, value }),
    maxMessageBytes: (to, at, value) => checkRange(to, at, value, limits.messageBytesMax),
    deadLetter: (to, at, value) => checkDeadLetter(to, at, { type, value }),
    tags: checkTags,
  })
  for (const [key, range] of Object.entries(durations)) {
    if (options[key] !== undefined) checkDuration(into, `${field}.${key}`, options[key], range)
  }
  if (type === 'fifo') {
    checkEach(into, field, options, {
      deduplication: (to, at, value) => checkOneOf(to, at, value, ['content', 'explicit']),
      deduplicationScope: (to, at, value) => checkOneOf(to, at, value, ['queue', 'group']),
    })
  }
  return true
}

/** Keys that mean nothing are mistakes: a setting that is ignored quietly is a wrong setting. */
export function checkKeys(
  into: Violations,
  field: string,
  settings: Fields,
  known: readonly string[],
): void {
  for (const key of Object.keys(settings).filter((name) => !known.includes(name))) {
    const [given, allowed] = fifoOnly.includes(key)
      ? ['a setting of FIFO queues', 'a queue declared with fifo({...})']
      : ['an unknown setting', `one of ${known.join(', ')}${didYouMean(key, known)}`]
    into.push({ field: field === '' ? key : `${field}.${key}`, given, allowed })
  }
}

type Check = (into: Violations, field: string, value: unknown) => void

function checkEach(
  into: Violations,
  field: string,
  given: Fields,
  checks: Readonly<Record<string, Check>>,
): void {
  for (const [key, check] of Object.entries(checks)) {
    if (given[key] !== undefined) check(into, `${field}.${key}`, given[key])
  }
}

function checkDuration(into: Violations, field: string, value: unknown, range: Range): void {
  const allowed = `a duration, ${formatDuration(range.min)} to ${formatDuration(range.max)}`
  const ms = parsedMs(value)
  if (ms !== undefined && ms >= range.min && ms <= range.max) return
  const given = ms === undefined ? describeGiven(value) : formatDuration(ms)
  into.push({ field, given, allowed: ms === undefined ? `${allowed}, written as '30s'` : allowed })
}

function parsedMs(value: unknown): number | undefined {
  try {
    // Whatever it is, durationMs refuses what is no duration.
    return durationMs(value as Duration)
  } catch {
    return undefined
  }
}

function checkSchema(into: Violations, field: string, value: unknown): void {
  // Some libraries' schemas are functions, so only the property of the standard counts.
  const standard =
    (typeof value === 'object' && value !== null) || typeof value === 'function'
      ? (value as Fields)['~standard']
      : undefined
  if (
    isRecord(standard) &&
    standard['version'] === 1 &&
    typeof standard['validate'] === 'function'
  ) {
    return
  }
  into.push({
    field,
    given: describeGiven(value),
    allowed: 'a Standard Schema, such as one of zod, valibot or arktype',
  })
}

interface Typed {
  readonly type: DeclaredQueue['type']
  readonly value: unknown
}

function checkName(into: Violations, field: string, { type, value }: Typed): void {
  if (type === 'standard' && typeof value === 'string' && isFifoName(value)) {
    const allowed = "a name without '.fifo' on a standard queue"
    into.push({ field, given: describeGiven(value), allowed })
    return
  }
  checkQueueName(into, field, value)
}

function checkDeadLetter(into: Violations, field: string, { type, value }: Typed): void {
  if (!isRecord(value)) {
    const allowed = "{ after: 3 } or { after: 3, queue: 'otherQueue' }"
    into.push({ field, given: describeGiven(value), allowed })
    return
  }
  const shared = value['queue'] !== undefined
  checkKeys(
    into,
    field,
    value,
    shared ? ['after', 'queue'] : ['after', 'name', 'retention', 'queue'],
  )
  checkRange(into, `${field}.after`, value['after'], limits.maxReceives)
  checkEach(into, field, value, {
    queue: (to, at, key) => {
      if (typeof key === 'string') return
      to.push({ field: at, given: describeGiven(key), allowed: 'the key of a declared queue' })
    },
  })
  if (shared) return
  checkEach(into, field, value, {
    name: (to, at, name) => checkName(to, at, { type, value: name }),
    retention: (to, at, time) => checkDuration(to, at, time, limits.retentionMs),
  })
}

function isQueueType(value: unknown): value is DeclaredQueue['type'] {
  return value === 'standard' || value === 'fifo'
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
