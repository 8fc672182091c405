/**
 * Checks the settings of one declared queue. The declaration may come from plain JavaScript, so nothing is
 * assumed about it.
 */
import { checkDelayFits, checkQueueName, checkTags, isFifoName } from '../core/check-queue.ts'
import { checkOneOf, checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { limits, type Range } from '../core/limits.ts'
import { defaultQueueSettings } from '../core/queue-settings.ts'
import { queueControlChecks } from './check-controls.ts'
import { checkJobTypes, checkPaths } from './check-job-types.ts'
import { isTriggersQueue } from './collector-declaration.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'
import {
  checkDuration,
  checkEach,
  checkFlag,
  checkKeys,
  checkSchema,
  type Fields,
  fifoOnly,
  isRecord,
  msOf,
} from './setting-checks.ts'

const durations: Readonly<Record<string, Range>> = {
  delay: limits.delayMs,
  visibilityTimeout: limits.visibilityMs,
  retention: limits.retentionMs,
  receiveWait: limits.receiveWaitMs,
}

const commonKeys: readonly string[] = [
  'name',
  ...Object.keys(durations),
  'maxMessageBytes',
  'deadLetter',
  'tags',
  'noPersonalData',
  'checkOnWire',
  ...Object.keys(queueControlChecks),
]
const standardKeys: readonly string[] = ['schema', ...commonKeys, 'secret', 'personal']
const fifoKeys: readonly string[] = [...standardKeys, ...fifoOnly].filter(
  // The messages of a group are handled one at a time anyway, and none may be passed over.
  (key) => key !== 'tenantConcurrency' && key !== 'limits',
)
/** The bodies of triggers are not the app's own. */
const triggersKeys: readonly string[] = commonKeys.filter((key) => key !== 'limits')
const jobsKeys: readonly string[] = [
  'types',
  'attempts',
  'expiresAfter',
  'idempotencyFor',
  'keepFinished',
  'keepLogs',
  ...commonKeys,
]

/** Returns whether the value is a queue at all. Adds every mistake inside it to the violations. */
export function checkQueueOptions(
  into: Violations,
  field: string,
  declared: unknown,
): declared is DeclaredQueue {
  if (!isDeclaration(declared)) {
    const allowed = 'queue({...}), fifo({...}), jobs({...}) or triggers({...})'
    into.push({ field, given: describeGiven(declared), allowed })
    return false
  }
  const { type, options } = declared
  if (isJobsQueue(declared)) {
    checkKeys(into, field, options, jobsKeys)
    checkJobsOptions(into, field, options)
  } else if (isTriggersQueue(declared)) {
    checkKeys(into, field, options, triggersKeys)
  } else {
    checkKeys(into, field, options, type === 'fifo' ? fifoKeys : standardKeys)
    checkEach(into, field, options, {
      schema: checkSchema,
      secret: checkPaths,
      personal: checkPaths,
    })
  }
  checkEach(into, field, options, {
    name: (to, at, value) => checkName(to, at, { type, value }),
    maxMessageBytes: (to, at, value) => checkRange(to, at, value, limits.messageBytesMax),
    deadLetter: (to, at, value) => checkDeadLetter(to, at, { type, value }),
    tags: checkTags,
    noPersonalData: checkFlag,
    checkOnWire: checkFlag,
    ...queueControlChecks,
  })
  for (const [key, range] of Object.entries(durations)) {
    if (options[key] !== undefined) checkDuration(into, `${field}.${key}`, options[key], range)
  }
  checkDelayFits(into, `${field}.delay`, {
    delayMs: msOf(options['delay']) ?? defaultQueueSettings.delayMs,
    retentionMs: msOf(options['retention']) ?? defaultQueueSettings.retentionMs,
  })
  if (type === 'fifo') {
    checkEach(into, field, options, {
      deduplication: (to, at, value) => checkOneOf(to, at, value, ['content', 'explicit']),
      deduplicationScope: (to, at, value) => checkOneOf(to, at, value, ['queue', 'group']),
    })
  }
  return true
}

function checkJobsOptions(into: Violations, field: string, options: Fields): void {
  checkJobTypes(into, `${field}.types`, options['types'])
  checkEach(into, field, options, {
    attempts: (to, at, value) => checkRange(to, at, value, limits.jobAttempts),
    expiresAfter: (to, at, value) => checkDuration(to, at, value, limits.jobExpiryMs),
    idempotencyFor: (to, at, value) => checkDuration(to, at, value, limits.idempotencyMs),
    keepFinished: checkKeepFinished,
    keepLogs: checkFlag,
  })
  checkReceives(into, field, options)
}

function checkKeepFinished(into: Violations, field: string, value: unknown): void {
  if (!isRecord(value)) {
    const allowed = "an object such as { completed: '30d', failed: 'forever' }"
    into.push({ field, given: describeGiven(value), allowed })
    return
  }
  checkKeys(into, field, value, ['completed', 'failed'])
  for (const key of ['completed', 'failed']) {
    const lifetime = value[key]
    if (lifetime === undefined || lifetime === 'forever') continue
    checkDuration(into, `${field}.${key}`, lifetime, limits.finishedJobMs)
  }
}

/** A job's number of tries is its `attempts`. A second number for the same thing is refused. */
function checkReceives(into: Violations, field: string, options: Fields): void {
  const { deadLetter, attempts } = options
  const after = isRecord(deadLetter) ? deadLetter['after'] : undefined
  if (after === undefined || attempts === undefined || after === attempts) return
  const allowed = `${describeGiven(attempts)}, like 'attempts', or no 'after' at all`
  into.push({ field: `${field}.deadLetter.after`, given: describeGiven(after), allowed })
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
    const allowed = "an object such as { after: 3 } or { after: 3, queue: 'otherQueue' }"
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
  checkEach(into, field, value, {
    after: (to, at, receives) => checkRange(to, at, receives, limits.maxReceives),
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

interface Declaration {
  readonly type: DeclaredQueue['type']
  readonly options: Fields
}

function isDeclaration(value: unknown): value is Declaration {
  if (!isRecord(value) || !isRecord(value['options'])) return false
  return value['type'] === 'standard' || (value['type'] === 'fifo' && !isJobsQueue(value))
}
