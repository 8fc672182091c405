/** Checks the schedules of an app against its queues. */
import { idPattern } from '../core/check-message.ts'
import { checkLength, checkOneOf, describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { checkPartName } from './check-part-name.ts'
import { type CheckedQueues, checkWorkQueue, checkWorkType } from './check-work.ts'
import type { DeclaredQueue } from './queue-declaration.ts'
import type { NameScope } from './resolve-names.ts'
import { defaultZone, ruleOf } from './schedule-rule.ts'
import { checkDuration, checkKeys, type Fields, isRecord } from './setting-checks.ts'

const scheduleKeys: readonly string[] = [
  'cron',
  'zone',
  'every',
  'queue',
  'type',
  'payload',
  'group',
  'missed',
]

const example = "a schedule made with schedule({ every: '1h', queue: 'reports' })"

export function checkSchedules(
  into: Violations,
  schedules: unknown,
  { queues, scope }: { readonly queues: CheckedQueues; readonly scope: NameScope },
): void {
  if (!isRecord(schedules)) {
    const allowed = 'an object of schedules'
    into.push({ field: 'schedules', given: describeGiven(schedules), allowed })
    return
  }
  const owners = new Map<string, string>()
  for (const [key, declared] of Object.entries(schedules)) {
    const field = `schedules.${key}`
    checkPartName(into, { field, key, scope, length: limits.scheduleNameLength, owners })
    const options = isRecord(declared) && declared['kind'] === 'schedule' && declared['options']
    if (isRecord(options)) checkSchedule(into, field, options, queues)
    else into.push({ field, given: describeGiven(declared), allowed: example })
  }
}

function checkSchedule(
  into: Violations,
  field: string,
  options: Fields,
  queues: CheckedQueues,
): void {
  checkKeys(into, field, options, scheduleKeys)
  checkRule(into, field, options)
  checkTarget(into, field, options, queues)
  if (options['missed'] !== undefined) {
    checkOneOf(into, `${field}.missed`, options['missed'], ['skip', 'once', 'all'])
  }
}

function checkRule(into: Violations, field: string, options: Fields): void {
  const { cron, every, zone } = options
  if ((cron === undefined) === (every === undefined)) {
    const given = cron === undefined ? 'neither' : 'both'
    into.push({ field, given, allowed: 'either cron or every' })
    return
  }
  if (cron !== undefined) {
    if (checkZone(into, `${field}.zone`, zone)) checkCron(into, `${field}.cron`, cron, zone)
    return
  }
  checkDuration(into, `${field}.every`, every, limits.scheduleEveryMs)
  if (zone === undefined) return
  const allowed = 'none: an interval does not depend on a time zone'
  into.push({ field: `${field}.zone`, given: describeGiven(zone), allowed })
}

function checkZone(into: Violations, field: string, zone: unknown): zone is string | undefined {
  if (zone === undefined || (typeof zone === 'string' && isZone(zone))) return true
  const allowed = 'an IANA time zone, such as Europe/Berlin'
  into.push({ field, given: describeGiven(zone), allowed })
  return false
}

function isZone(zone: string): boolean {
  // The runtime also accepts bare offsets, which have no daylight saving time.
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,99}$/.test(zone)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

const cronForm = 'a cron expression of five fields, or six with seconds first'

function checkCron(
  into: Violations,
  field: string,
  cron: unknown,
  zone: string = defaultZone,
): void {
  const before = into.length
  checkLength(into, field, cron, limits.scheduleCronLength)
  if (into.length > before || typeof cron !== 'string') return
  try {
    // The calendar repeats every 400 years, so a rule without a tick after 1970 never ticks.
    if (ruleOf({ cron, zone }).nextAfter(0) !== null) return
    const allowed = 'a cron expression that matches at least one date'
    into.push({ field, given: describeGiven(cron), allowed })
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^Cron\w+: /, '') : 'unknown'
    into.push({
      field,
      given: `${describeGiven(cron)} (${reason.slice(0, 120)})`,
      allowed: cronForm,
    })
  }
}

function checkTarget(
  into: Violations,
  field: string,
  options: Fields,
  queues: CheckedQueues,
): void {
  const { queue: key, type, group } = options
  const queue = checkWorkQueue(into, `${field}.queue`, key, queues)
  if (queue === undefined) return
  checkWorkType(into, `${field}.type`, type, queue)
  if (group !== undefined) checkGroup(into, `${field}.group`, group, queue)
}

function checkGroup(into: Violations, field: string, group: unknown, queue: DeclaredQueue): void {
  if (queue.type !== 'fifo') {
    const allowed = 'none: only a schedule for a FIFO queue has a group'
    into.push({ field, given: describeGiven(group), allowed })
    return
  }
  checkLength(into, field, group, limits.groupLength)
  if (typeof group !== 'string' || idPattern.test(group)) return
  const allowed = 'letters, digits and punctuation marks'
  into.push({ field, given: describeGiven(group), allowed })
}
