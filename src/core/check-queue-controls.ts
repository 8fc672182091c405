/** The settings of a queue that hold its receivers back, or say how long finished jobs are kept. */
import { checkRange, checkText, describeGiven, type Violations } from './checks.ts'
import { limits, type Range } from './limits.ts'

export function checkCeilings(into: Violations, field: string, value: unknown): void {
  const ceilings = recordOf(into, field, value, [
    'running',
    'runningPerTenant',
    'runningPerType',
    'rate',
  ])
  if (ceilings === undefined) return
  checkNullable(into, `${field}.running`, ceilings['running'], limits.concurrency)
  checkNullable(into, `${field}.runningPerTenant`, ceilings['runningPerTenant'], limits.concurrency)
  checkByType(into, `${field}.runningPerType`, ceilings['runningPerType'], (path, max) =>
    checkRange(into, path, max, limits.concurrency),
  )
  if (ceilings['rate'] === null) return
  const rate = recordOf(into, `${field}.rate`, ceilings['rate'], ['max', 'perMs'])
  if (rate === undefined) return
  checkRange(into, `${field}.rate.max`, rate['max'], limits.rateMax)
  checkRange(into, `${field}.rate.perMs`, rate['perMs'], limits.ratePerMs)
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
