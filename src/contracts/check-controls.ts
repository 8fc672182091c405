/** Checks the settings that control how work runs: ceilings, kill switches, backoff, timeouts. */
import { checkKeyList, checkLimitKey } from '../core/check-queue-controls.ts'
import {
  checkNumber,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { type Check, checkDuration, checkEach, checkKeys, isRecord } from './setting-checks.ts'

/** For queues and job types. */
export const controlChecks: Readonly<Record<string, Check>> = {
  concurrency: (to, at, value) => checkRange(to, at, value, limits.concurrency),
  obeys: checkObeys,
  backoff: checkBackoff,
  timeout: (to, at, value) => checkDuration(to, at, value, limits.handlerTimeoutMs),
}

/** For queues only. */
export const queueControlChecks: Readonly<Record<string, Check>> = {
  ...controlChecks,
  tenantConcurrency: (to, at, value) => checkRange(to, at, value, limits.concurrency),
  rate: checkRate,
  limits: checkLimits,
}

function checkLimits(into: Violations, field: string, value: unknown): void {
  if (!checkKeyList(into, field, value)) return
  for (const [index, limit] of value.entries()) checkLimit(into, `${field}[${index}]`, limit)
}

function checkLimit(into: Violations, field: string, value: unknown): void {
  const example = "an object such as { key: 'customerId', concurrency: 2 }"
  if (!isRecord(value)) {
    into.push({ field, given: describeGiven(value), allowed: example })
    return
  }
  checkKeys(into, field, value, ['key', 'concurrency', 'rate'])
  checkLimitKey(into, `${field}.key`, value['key'])
  checkEach(into, field, value, {
    concurrency: (to, at, count) => checkRange(to, at, count, limits.concurrency),
    rate: checkRate,
  })
  if (value['concurrency'] === undefined && value['rate'] === undefined) {
    into.push({ field, given: 'neither concurrency nor rate', allowed: example })
  }
}

function checkRate(into: Violations, field: string, value: unknown): void {
  if (!isRecord(value)) {
    into.push({
      field,
      given: describeGiven(value),
      allowed: "an object such as { max: 50, per: '1s' }",
    })
    return
  }
  checkKeys(into, field, value, ['max', 'per'])
  checkRange(into, `${field}.max`, value['max'], limits.rateMax)
  checkDuration(into, `${field}.per`, value['per'], limits.ratePerMs)
}

function checkObeys(into: Violations, field: string, value: unknown): void {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  for (const name of names) checkText(into, field, name, limits.switchNameLength)
}

export function checkBackoff(into: Violations, field: string, value: unknown): void {
  if (!isRecord(value)) {
    into.push({
      field,
      given: describeGiven(value),
      allowed: "an object such as { from: '5s', factor: 2 }",
    })
    return
  }
  checkKeys(into, field, value, ['from', 'factor', 'max', 'jitter'])
  checkEach(into, field, value, {
    from: (to, at, time) => checkDuration(to, at, time, limits.backoffMs),
    max: (to, at, time) => checkDuration(to, at, time, limits.backoffMs),
    factor: (to, at, factor) => checkNumber(to, at, factor, { min: 1, max: 10 }),
    jitter: (to, at, jitter) => checkNumber(to, at, jitter, { min: 0, max: 1 }),
  })
}
