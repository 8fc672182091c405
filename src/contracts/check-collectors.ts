/** Checks the collectors of an app against its queues. */
import { checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { formatDuration } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { defaultQueueSettings } from '../core/queue-settings.ts'
import { checkPartName } from './check-part-name.ts'
import type { CheckedQueues } from './check-work.ts'
import { isTriggersQueue, type TriggersQueue } from './collector-declaration.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { NameScope } from './resolve-names.ts'
import {
  checkDuration,
  checkEach,
  checkFunction,
  checkKeys,
  checkSchema,
  type Fields,
  isRecord,
  msOf,
} from './setting-checks.ts'

const neededFunctions: readonly string[] = ['key', 'id', 'merge']
const otherFunctions: readonly string[] = ['order', 'trigger', 'keyOf', 'route']
const collectorKeys: readonly string[] = [
  'schema',
  'window',
  'maxWait',
  'maxItems',
  'maxBytes',
  'rememberFor',
  'triggers',
  'targets',
  ...neededFunctions,
  ...otherFunctions,
]

const example = "a collector made with collector({ item, key, id, window: '10s', ... })"

export interface CollectorsCheck {
  readonly queues: CheckedQueues
  readonly scope: NameScope
}

export function checkCollectors(
  into: Violations,
  collectors: unknown,
  { queues, scope }: CollectorsCheck,
): void {
  const served = new Map<string, string>()
  if (isRecord(collectors)) {
    const owners = new Map<string, string>()
    for (const [key, declared] of Object.entries(collectors)) {
      const field = `collectors.${key}`
      checkPartName(into, { field, key, scope, length: limits.collectorNameLength, owners })
      const options = isRecord(declared) && declared['kind'] === 'collector' && declared['options']
      if (isRecord(options)) checkCollector(into, { field, options, queues, served })
      else into.push({ field, given: describeGiven(declared), allowed: example })
    }
  } else if (collectors !== undefined) {
    const allowed = 'an object of collectors'
    into.push({ field: 'collectors', given: describeGiven(collectors), allowed })
  }
  for (const [key, declared] of queues) {
    if (!isTriggersQueue(declared) || served.has(key)) continue
    const allowed = `a collector that names this queue, as in triggers: '${key}'`
    into.push({ field: `queues.${key}`, given: 'a triggers queue that no collector uses', allowed })
  }
}

interface CollectorCheck {
  readonly field: string
  readonly options: Fields
  readonly queues: CheckedQueues
  /** The queues of triggers that a collector uses already, with the field of that collector. */
  readonly served: Map<string, string>
}

function checkCollector(into: Violations, check: CollectorCheck): void {
  const { field, options } = check
  checkKeys(into, field, options, collectorKeys)
  checkSchema(into, `${field}.schema`, options['schema'])
  for (const name of neededFunctions) checkFunction(into, `${field}.${name}`, options[name])
  checkDuration(into, `${field}.window`, options['window'], limits.delayMs)
  checkEach(into, field, options, {
    ...Object.fromEntries(otherFunctions.map((name) => [name, checkFunction])),
    maxWait: (to, at, value) => checkDuration(to, at, value, limits.maxWaitMs),
    maxItems: (to, at, value) => checkRange(to, at, value, limits.batchItems),
    maxBytes: (to, at, value) => checkRange(to, at, value, limits.batchBytes),
    rememberFor: (to, at, value) => checkDuration(to, at, value, limits.rememberMs),
  })
  checkMaxWait(into, field, options)
  checkTrigger(into, check)
  checkTargets(into, check)
}

function checkMaxWait(into: Violations, field: string, { window, maxWait }: Fields): void {
  const windowMs = msOf(window)
  const maxWaitMs = msOf(maxWait)
  if (windowMs === undefined || maxWaitMs === undefined || maxWaitMs >= windowMs) return
  const allowed = `at least the window, ${formatDuration(windowMs)}`
  into.push({ field: `${field}.maxWait`, given: formatDuration(maxWaitMs), allowed })
}

function checkTrigger(into: Violations, { field, options, queues, served }: CollectorCheck): void {
  const { triggers: key, trigger, keyOf } = options
  if ((trigger === undefined) !== (keyOf === undefined)) {
    const missing = trigger === undefined ? 'trigger' : 'keyOf'
    const allowed = 'trigger and keyOf together, because keyOf reads what trigger writes'
    into.push({ field: `${field}.${missing}`, given: 'nothing', allowed })
  }
  const queue = typeof key === 'string' ? queues.get(key) : undefined
  if (typeof key !== 'string' || queue === undefined || !isTriggersQueue(queue)) {
    const known = [...queues].filter(([, one]) => isTriggersQueue(one)).map(([name]) => name)
    const hint = typeof key === 'string' ? didYouMean(key, known) : ''
    const allowed = `the key of a queue declared with triggers({...})${hint}`
    into.push({ field: `${field}.triggers`, given: describeGiven(key), allowed })
    return
  }
  const other = served.get(key)
  if (other !== undefined) {
    const allowed = `a separate queue; '${key}' already carries the triggers of ${other}`
    into.push({ field: `${field}.triggers`, given: describeGiven(key), allowed })
  }
  served.set(key, field)
  checkRetention(into, { field, options, key, queue })
}

/** A trigger that expires before it is due would never start its batch. */
function checkRetention(
  into: Violations,
  triggers: {
    readonly field: string
    readonly options: Fields
    readonly key: string
    readonly queue: TriggersQueue
  },
): void {
  const { options, key, queue } = triggers
  const { retention } = queue.options
  const retentionMs =
    retention === undefined ? defaultQueueSettings.retentionMs : (msOf(retention) ?? 0)
  const longestMs = Math.max(msOf(options['window']) ?? 0, msOf(options['maxWait']) ?? 0)
  if (retentionMs === 0 || retentionMs > longestMs) return
  const allowed = `longer than the wait of ${triggers.field}, ${formatDuration(longestMs)}`
  into.push({ field: `queues.${key}.retention`, given: formatDuration(retentionMs), allowed })
}

function checkTargets(into: Violations, { field, options, queues }: CollectorCheck): void {
  const { targets, route } = options
  if (!Array.isArray(targets) || targets.length === 0) {
    const allowed = "the keys of the queues for merged messages, such as ['whatsapp', 'sms']"
    const given = Array.isArray(targets) ? 'no queue' : describeGiven(targets)
    into.push({ field: `${field}.targets`, given, allowed })
    return
  }
  for (const [index, key] of targets.entries()) {
    checkTarget(into, `${field}.targets[${index}]`, key, queues)
  }
  if (targets.length > 1 && route === undefined) {
    const allowed = 'a function that chooses one of the targets'
    into.push({ field: `${field}.route`, given: 'nothing', allowed })
  }
}

function checkTarget(into: Violations, field: string, key: unknown, queues: CheckedQueues): void {
  const queue = typeof key === 'string' ? queues.get(key) : undefined
  if (queue === undefined) {
    const hint = typeof key === 'string' ? didYouMean(key, [...queues.keys()]) : ''
    const allowed = `the key of a declared queue${hint}`
    into.push({ field, given: describeGiven(key), allowed })
    return
  }
  const kind = [
    isJobsQueue(queue) && 'a jobs queue',
    isTriggersQueue(queue) && 'a triggers queue',
    queue.type === 'fifo' && 'a FIFO queue',
  ].find((found) => found !== false)
  if (kind === undefined) return
  into.push({
    field,
    given: `'${String(key)}', ${kind}`,
    allowed: 'a queue declared with queue({...})',
  })
}
