/** The settings of a queue that hold its receivers back, or say how long finished jobs are kept. */
import { checkRange, checkText, describeGiven, type Violations } from './checks.ts'
import { limits, type Range } from './limits.ts'

export function checkCeilings(into: Violations, field: string, value: unknown): void {
  const ceilings = recordOf(into, field, value, [
    'running',
    'runningPerTenant',
    'runningPerType',
    'rate',
    'perKey',
  ])
  if (ceilings === undefined) return
  checkNullable(into, `${field}.running`, ceilings['running'], limits.concurrency)
  checkNullable(into, `${field}.runningPerTenant`, ceilings['runningPerTenant'], limits.concurrency)
  checkByType(into, `${field}.runningPerType`, ceilings['runningPerType'], (path, max) =>
    checkRange(into, path, max, limits.concurrency),
  )
  checkRate(into, `${field}.rate`, ceilings['rate'])
  checkKeyCeilings(into, `${field}.perKey`, ceilings['perKey'])
}

function checkRate(into: Violations, field: string, value: unknown): void {
  if (value === null) return
  const rate = recordOf(into, field, value, ['max', 'perMs'])
  if (rate === undefined) return
  checkRange(into, `${field}.max`, rate['max'], limits.rateMax)
  checkRange(into, `${field}.perMs`, rate['perMs'], limits.ratePerMs)
}

function checkKeyCeilings(into: Violations, field: string, value: unknown): void {
  if (!checkKeyList(into, field, value)) return
  for (const [index, given] of value.entries()) {
    const at = `${field}[${index}]`
    const one = recordOf(into, at, given, ['key', 'running', 'rate'])
    if (one === undefined) continue
    checkLimitKey(into, `${at}.key`, one['key'])
    checkNullable(into, `${at}.running`, one['running'], limits.concurrency)
    checkRate(into, `${at}.rate`, one['rate'])
  }
}

/** Whether it is a list of as many limits as a queue may have, each for another key. */
export function checkKeyList(
  into: Violations,
  field: string,
  value: unknown,
): value is readonly unknown[] {
  if (!Array.isArray(value)) {
    into.push({ field, given: describeGiven(value), allowed: 'an array of limits by key' })
    return false
  }
  const { max } = limits.limitKeys
  if (value.length > max) {
    into.push({ field, given: `${value.length} keys`, allowed: `at most ${max} keys` })
  }
  const keys = value.map((one) => Object(one).key)
  const twice = keys.find((key, index) => key !== undefined && keys.indexOf(key) < index)
  if (twice !== undefined) {
    into.push({ field, given: `${describeGiven(twice)} twice`, allowed: 'each key once' })
  }
  return true
}

/** A wildcard would match nothing, so it would limit nothing. */
const keyPath = /^[^.*[\]]+(?:\.[^.*[\]]+)*$/

export function checkLimitKey(into: Violations, field: string, value: unknown): void {
  checkText(into, field, value, limits.limitKeyLength)
  if (typeof value !== 'string' || value === '' || keyPath.test(value)) return
  const allowed = "a path in the message, such as 'customer.id', without * or []"
  into.push({ field, given: describeGiven(value), allowed })
}

export function checkObeys(into: Violations, field: string, value: unknown): void {
  const obeys = recordOf(into, field, value, ['queue', 'types'])
  if (obeys === undefined) return
  checkSwitchNames(into, `${field}.queue`, obeys['queue'])
  checkByType(into, `${field}.types`, obeys['types'], (path, names) =>
    checkSwitchNames(into, path, names),
  )
}

export function checkHistory(into: Violations, field: string, value: unknown): void {
  const history = recordOf(into, field, value, ['completedMs', 'failedMs'])
  if (history === undefined) return
  for (const key of ['completedMs', 'failedMs']) {
    checkNullable(into, `${field}.${key}`, history[key], limits.finishedJobMs)
  }
}

export function checkSwitchNames(into: Violations, field: string, value: unknown): void {
  if (!Array.isArray(value)) {
    into.push({ field, given: describeGiven(value), allowed: 'an array of names of kill switches' })
    return
  }
  for (const name of value) checkText(into, field, name, limits.switchNameLength)
}

function checkByType(
  into: Violations,
  field: string,
  value: unknown,
  checkEntry: (path: string, entry: unknown) => void,
): void {
  const byType = recordOf(into, field, value)
  for (const [type, entry] of Object.entries(byType ?? {})) {
    checkText(into, `${field}: type`, type, limits.jobTypeLength)
    checkEntry(`${field}.${type.slice(0, 40)}`, entry)
  }
}

function checkNullable(into: Violations, field: string, value: unknown, range: Range): void {
  if (value !== null) checkRange(into, field, value, range)
}

/** An object with exactly these keys, or with any when none are given; undefined when it is not. */
function recordOf(
  into: Violations,
  field: string,
  value: unknown,
  keys?: readonly string[],
): Readonly<Record<string, unknown>> | undefined {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
  const given = isRecord ? Object.keys(value) : []
  const fits =
    isRecord &&
    (keys === undefined ||
      (given.length === keys.length && keys.every((key) => given.includes(key))))
  if (fits) return { ...value }
  const allowed = keys === undefined ? 'an object by job type' : `{ ${keys.join(', ')} }`
  into.push({ field, given: describeGiven(value), allowed })
  return undefined
}
