/** The alarms of an app, held against its queues. */
import {
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { checkDuration, checkEach, checkKeys, isRecord } from './setting-checks.ts'

const alarmKeys: readonly string[] = [
  'metric',
  'queue',
  'comparison',
  'threshold',
  'name',
  'statistic',
  'period',
  'evaluationPeriods',
  'datapointsToAlarm',
  'missingData',
]

export function checkAlarms(into: Violations, alarms: unknown, queues: readonly string[]): void {
  if (!Array.isArray(alarms)) {
    const allowed = "an array such as [dead('*').above(10)]"
    into.push({ field: 'alarms', given: describeGiven(alarms), allowed })
    return
  }
  for (const [index, alarm] of alarms.entries()) {
    checkAlarm(into, `alarms[${index}]`, alarm, queues)
  }
}

function checkAlarm(
  into: Violations,
  field: string,
  alarm: unknown,
  queues: readonly string[],
): void {
  if (!isRecord(alarm)) {
    into.push({ field, given: describeGiven(alarm), allowed: "one such as dead('*').above(10)" })
    return
  }
  checkKeys(into, field, alarm, alarmKeys)
  const metrics = ['dead_letters', 'depth', 'oldest_age', 'error_rate']
  checkOneOf(into, `${field}.metric`, alarm['metric'], metrics)
  checkOneOf(into, `${field}.queue`, alarm['queue'], ['*', ...queues])
  checkOneOf(into, `${field}.comparison`, alarm['comparison'], ['above', 'below'])
  const { threshold, evaluationPeriods = 1 } = alarm
  if (typeof threshold !== 'number' || !Number.isFinite(threshold)) {
    into.push({ field: `${field}.threshold`, given: describeGiven(threshold), allowed: 'a number' })
  }
  const statistics = ['maximum', 'minimum', 'average', 'sum']
  const missing = ['missing', 'ignore', 'breaching', 'not_breaching']
  checkEach(into, field, alarm, {
    name: (to, at, value) => checkText(to, at, value, limits.alarmNameLength),
    statistic: (to, at, value) => checkOneOf(to, at, value, statistics),
    missingData: (to, at, value) => checkOneOf(to, at, value, missing),
    period: (to, at, value) => checkDuration(to, at, value, limits.alarmPeriodMs),
    evaluationPeriods: (to, at, value) => checkRange(to, at, value, limits.alarmPeriods),
    datapointsToAlarm: (to, at, value) => {
      const max = typeof evaluationPeriods === 'number' ? evaluationPeriods : 1
      checkRange(to, at, value, { min: 1, max, unit: 'of the periods looked at' })
    },
  })
}
