/** Names, settings and tags of a queue, checked the same way for every backend and surface. */
import { checkCeilings, checkHistory, checkObeys } from './check-queue-controls.ts'
import {
  checkLength,
  checkOneOf,
  checkRange,
  checkStringRecord,
  describeGiven,
  type Violations,
} from './checks.ts'
import { formatDuration } from './durations.ts'
import { describeRange, limits } from './limits.ts'

const namePattern = /^[A-Za-z0-9_-]{1,80}$/
const fifoSuffix = '.fifo'

export function isFifoName(name: string): boolean {
  return name.endsWith(fifoSuffix)
}

export function checkQueueName(into: Violations, field: string, name: unknown): void {
  const stem =
    typeof name === 'string' && isFifoName(name) ? name.slice(0, -fifoSuffix.length) : name
  const fits =
    typeof name === 'string' &&
    typeof stem === 'string' &&
    name.length <= limits.queueNameLength.max &&
    namePattern.test(stem)
  if (fits) return
  into.push({
    field,
    given: describeGiven(name),
    allowed: `1 to ${limits.queueNameLength.max} of A-Z a-z 0-9 _ -, and '${fifoSuffix}' at the end of a FIFO queue only`,
  })
}

/** Ends the namespace of a queue's name in a store: `eu-west-1:123456789012:orders`. */
export const namespaceEnd = ':'

const namespacePattern = /^(?:[a-z0-9-]{1,40}:){2}$/

/** The name of a queue in a store: a name as above, in a namespace or in none. */
export function checkStoreName(into: Violations, field: string, name: unknown): void {
  const nameAt = typeof name === 'string' ? name.lastIndexOf(namespaceEnd) + 1 : 0
  const isInside = typeof name === 'string' && nameAt > 0
  if (isInside && !namespacePattern.test(name.slice(0, nameAt))) {
    const allowed = "a namespace of two parts of a-z 0-9 -, each with a ':' behind it"
    into.push({ field, given: describeGiven(name), allowed })
  } else {
    checkQueueName(into, field, isInside ? name.slice(nameAt) : name)
  }
}

const rangedSettings = [
  'visibilityMs',
  'delayMs',
  'retentionMs',
  'receiveWaitMs',
  'messageBytesMax',
] as const

const knownSettings: readonly string[] = [
  ...rangedSettings,
  'type',
  'deadLetter',
  'deadLetterSources',
  'deduplicateByContent',
  'deduplicationScope',
  'annotations',
  'ceilings',
  'obeys',
  'history',
  'hidden',
  'jobTypes',
]

/** Settings that are given, whether to create a queue or to change one. */
export function checkQueueSettings(
  into: Violations,
  field: string,
  settings: Readonly<Record<string, unknown>>,
): void {
  for (const key of Object.keys(settings)) {
    if (!knownSettings.includes(key)) {
      into.push({
        field: `${field}.${key}`,
        given: key,
        allowed: `one of ${knownSettings.join(', ')}`,
      })
    }
  }
  const check = (key: string, run: (path: string, value: unknown) => void): void => {
    if (settings[key] !== undefined) run(`${field}.${key}`, settings[key])
  }
  for (const key of rangedSettings) {
    check(key, (path, value) => checkRange(into, path, value, limits[key]))
  }
  check('type', (path, value) => checkOneOf(into, path, value, ['standard', 'fifo']))
  check('deduplicateByContent', (path, value) => checkOneOf(into, path, value, [true, false]))
  check('deduplicationScope', (path, value) => checkOneOf(into, path, value, ['queue', 'group']))
  check('annotations', (path, value) => checkStringRecord(into, path, value))
  check('deadLetter', (path, value) => checkDeadLetter(into, path, value))
  check('deadLetterSources', (path, value) => checkDeadLetterSources(into, path, value))
  check('ceilings', (path, value) => checkCeilings(into, path, value))
  check('obeys', (path, value) => checkObeys(into, path, value))
  check('history', (path, value) => checkHistory(into, path, value))
  check('hidden', (path, value) => checkTexts(into, path, value, 'an array of paths'))
  check('jobTypes', (path, value) => checkTexts(into, path, value, 'an array of job types'))
}

export interface DelayAndRetention {
  readonly delayMs: number
  readonly retentionMs: number
}

/** A message that is delayed for as long as it is kept expires before it can be received. */
export function outlastsRetention({ delayMs, retentionMs }: DelayAndRetention): boolean {
  return delayMs >= retentionMs
}

export function checkDelayFits(into: Violations, field: string, given: DelayAndRetention): void {
  if (!outlastsRetention(given)) return
  const { delayMs, retentionMs } = given
  const allowed = `less than the retention of the queue, ${formatDuration(retentionMs)}: the message would expire before it is due`
  into.push({ field, given: formatDuration(delayMs), allowed })
}

export function checkTags(into: Violations, field: string, tags: unknown): void {
  if (!checkStringRecord(into, field, tags)) return
  const keys = Object.keys(tags)
  if (keys.length > limits.tagsPerQueue.max) {
    into.push({ field, given: `${keys.length} tags`, allowed: describeRange(limits.tagsPerQueue) })
  }
  for (const [key, value] of Object.entries(tags)) {
    checkLength(into, `${field}: key`, key, limits.tagKeyLength)
    checkLength(into, `${field}.${key.slice(0, 40)}`, value, limits.tagValueLength)
  }
}

function checkTexts(into: Violations, field: string, value: unknown, allowed: string): void {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return
  into.push({ field, given: describeGiven(value), allowed })
}

function checkDeadLetter(into: Violations, field: string, value: unknown): void {
  if (value === null) return
  if (typeof value !== 'object' || !('queue' in value) || !('maxReceives' in value)) {
    into.push({ field, given: describeGiven(value), allowed: 'null or { queue, maxReceives }' })
    return
  }
  checkStoreName(into, `${field}.queue`, value.queue)
  checkRange(into, `${field}.maxReceives`, value.maxReceives, limits.maxReceives)
}

function checkDeadLetterSources(into: Violations, field: string, value: unknown): void {
  if (value === 'all' || value === 'none') return
  const { min, max } = limits.redriveSources
  if (!Array.isArray(value) || value.length < min || value.length > max) {
    into.push({
      field,
      given: Array.isArray(value) ? `${value.length} names` : describeGiven(value),
      allowed: `'all', 'none', or ${min} to ${max} names of queues`,
    })
    return
  }
  for (const name of value) checkStoreName(into, field, name)
}
