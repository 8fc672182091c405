/** Checks when a schedule ticks: its cron expression or interval, its time zone and its end. */
import { checkLength, describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import type { Violation } from '../core/millrace-error.ts'
import { defaultTimezone, ruleOf } from './schedule-rule.ts'
import { checkDuration, type Fields, fieldIn } from './setting-checks.ts'

export function checkTiming(into: Violations, field: string, options: Fields): void {
  const { cron, every, timezone, until } = options
  if (until !== undefined) checkDate(into, fieldIn(field, 'until'), until)
  if ((cron === undefined) === (every === undefined)) {
    const given = cron === undefined ? 'neither' : 'both'
    into.push({ field: field || 'schedule', given, allowed: 'either cron or every' })
    return
  }
  const zoneField = fieldIn(field, 'timezone')
  if (cron !== undefined) {
    if (checkTimezone(into, zoneField, timezone)) {
      checkCron(into, fieldIn(field, 'cron'), cron, timezone)
    }
    return
  }
  checkDuration(into, fieldIn(field, 'every'), every, limits.scheduleEveryMs)
  if (timezone === undefined) return
  const allowed = 'none: an interval does not depend on a time zone'
  into.push({ field: zoneField, given: describeGiven(timezone), allowed })
}

function checkDate(into: Violations, field: string, until: unknown): void {
  if (until instanceof Date && !Number.isNaN(until.getTime())) return
  const given = until instanceof Date ? 'an invalid Date' : describeGiven(until)
  into.push({ field, given, allowed: 'a Date' })
}

function checkTimezone(
  into: Violations,
  field: string,
  timezone: unknown,
): timezone is string | undefined {
  if (timezone === undefined || (typeof timezone === 'string' && isTimezone(timezone))) return true
  const allowed = 'an IANA time zone, such as Europe/Berlin'
  into.push({ field, given: describeGiven(timezone), allowed })
  return false
}

/** To ask the runtime takes longer than to compute a tick. */
const knownTimezones = new Set<string>()

function isTimezone(timezone: string): boolean {
  if (knownTimezones.has(timezone)) return true
  // The runtime also accepts bare offsets, which have no daylight saving time.
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,99}$/.test(timezone)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
    knownTimezones.add(timezone)
    return true
  } catch {
    return false
  }
}

function checkCron(
  into: Violations,
  field: string,
  cron: unknown,
  timezone: string = defaultTimezone,
): void {
  const before = into.length
  checkLength(into, field, cron, limits.scheduleCronLength)
  if (into.length > before || typeof cron !== 'string') return
  try {
    // The calendar repeats every 400 years, so a rule without a tick after 1970 never ticks.
    if (ruleOf({ cron, timezone }).nextAfter(0) !== null) return
    const allowed = 'a cron expression that matches at least one date'
    into.push({ field, given: describeGiven(cron), allowed })
  } catch {
    into.push({ field, ...cronMistake(cron) })
  }
}

const cronFields: readonly (readonly [name: string, values: string])[] = [
  ['second', '0 to 59'],
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day of the month', '1 to 31, or L'],
  ['month', '1 to 12, or JAN to DEC'],
  ['day of the week', '0 to 7, or SUN to SAT'],
]

const cronForm = 'a cron expression of five fields, or six with seconds first'

/** What is wrong with an expression that cannot be read. The parser's own texts do not fit ours. */
function cronMistake(cron: string): Omit<Violation, 'field'> {
  const given = describeGiven(cron)
  const parts = cron.split(/\s+/).filter((part) => part !== '')
  if (cron.includes('?')) return { given, allowed: '* instead of ?' }
  if (parts.length === 1 && cron.includes('@')) {
    return { given, allowed: `${cronForm}, or a shortcut such as @hourly, @daily or @monthly` }
  }
  const named = cronFields.slice(cronFields.length - parts.length)
  if (parts.length !== 5 && parts.length !== 6) {
    return { given: `${given} (fields: ${parts.length})`, allowed: cronForm }
  }
  const wrong = parts.findIndex((part, index) => !isReadable(parts.map(only(index, part))))
  const [name, values] = named[wrong] ?? []
  if (name === undefined) return { given, allowed: cronForm }
  return {
    given: `${given} with ${describeGiven(parts[wrong])} as the ${name}`,
    allowed: `${values}, also as a list, a range or a step, or *`,
  }
}

/** One field, with * for all others. */
function only(at: number, part: string): (_: string, index: number) => string {
  return (_, index) => (index === at ? part : '*')
}

function isReadable(parts: readonly string[]): boolean {
  try {
    ruleOf({ cron: parts.join(' ') })
    return true
  } catch {
    return false
  }
}
