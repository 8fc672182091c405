/** Checks the alarms of an app and their actions against its queues and flows. */
import { alarmMetricNames } from '../core/alarm-metrics.ts'
import {
  alarmComparisons,
  alarmSeverities,
  alarmStates,
  alarmStatistics,
  missingDataRules,
} from '../core/alarm-rule.ts'
import {
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'
import { checkDuration, checkEach, checkKeys, type Fields, isRecord } from './setting-checks.ts'

/** What alarms may watch. */
export interface AlarmSubjects {
  readonly queues: readonly string[]
  /** Flows and chains. */
  readonly flows: readonly string[]
  /** Queues whose declaration is well-formed enough to read. */
  readonly shaped: ReadonlyMap<string, DeclaredQueue>
}

const optionKeys: readonly string[] = [
  'name',
  'description',
  'severity',
  'statistic',
  'period',
  'evaluationPeriods',
  'datapointsToAlarm',
  'missingData',
  'actions',
]

const metrics: readonly string[] = ['dead_letters', ...alarmMetricNames]

/** The longest span that one alarm evaluates. CloudWatch has the same limit for periods below an hour. */
export const alarmSpanMsMax = 86_400_000

export function checkAlarms(into: Violations, alarms: unknown, subjects: AlarmSubjects): void {
  if (!Array.isArray(alarms)) {
    const allowed = "an array such as [alarm.dead('*').above(10)]"
    into.push({ field: 'alarms', given: describeGiven(alarms), allowed })
    return
  }
  for (const [index, alarm] of alarms.entries()) {
    checkAlarm(into, `alarms[${index}]`, alarm, subjects)
  }
  checkNames(into, alarms)
}

export function checkAlarmActions(
  into: Violations,
  field: string,
  actions: unknown,
  subjects: AlarmSubjects,
): void {
  if (!Array.isArray(actions)) {
    const allowed = "an array such as [{ webhook: 'https://example.com/alarms' }]"
    into.push({ field, given: describeGiven(actions), allowed })
    return
  }
  checkRange(into, `${field}.length`, actions.length, limits.alarmActions)
  for (const [index, action] of actions.entries()) {
    checkAction(into, `${field}[${index}]`, action, subjects)
  }
}

function checkAlarm(
  into: Violations,
  field: string,
  alarm: unknown,
  subjects: AlarmSubjects,
): void {
  if (!isRecord(alarm)) {
    into.push({
      field,
      given: describeGiven(alarm),
      allowed: "an alarm such as alarm.dead('*').above(10)",
    })
    return
  }
  const { metric, threshold } = alarm
  const subject = subjectOf(metric)
  checkKeys(into, field, alarm, ['metric', subject, 'comparison', 'threshold', ...optionKeys])
  checkOneOf(into, `${field}.metric`, metric, metrics)
  if (subject === 'value') {
    checkText(into, `${field}.value`, alarm['value'], limits.metricNameLength)
  } else {
    const keys = subject === 'flow' ? subjects.flows : subjects.queues
    checkOneOf(into, `${field}.${subject}`, alarm[subject], ['*', ...keys])
  }
  checkOneOf(into, `${field}.comparison`, alarm['comparison'], alarmComparisons)
  if (typeof threshold !== 'number' || !Number.isFinite(threshold)) {
    into.push({ field: `${field}.threshold`, given: describeGiven(threshold), allowed: 'a number' })
  }
  checkOptions(into, field, alarm, subjects)
}

function subjectOf(metric: unknown): 'queue' | 'flow' | 'value' {
  if (metric === 'overdue_flows') return 'flow'
  return metric === 'value' ? 'value' : 'queue'
}

function checkOptions(
  into: Violations,
  field: string,
  alarm: Fields,
  subjects: AlarmSubjects,
): void {
  const { evaluationPeriods = 1 } = alarm
  checkEach(into, field, alarm, {
    name: (to, at, value) => checkText(to, at, value, limits.alarmNameLength),
    description: (to, at, value) => checkText(to, at, value, limits.alarmDescriptionLength),
    severity: (to, at, value) => checkOneOf(to, at, value, alarmSeverities),
    statistic: (to, at, value) => checkOneOf(to, at, value, alarmStatistics),
    missingData: (to, at, value) => checkOneOf(to, at, value, missingDataRules),
    period: checkPeriod,
    evaluationPeriods: (to, at, value) => checkRange(to, at, value, limits.alarmPeriods),
    datapointsToAlarm: (to, at, value) => {
      const max = typeof evaluationPeriods === 'number' ? evaluationPeriods : 1
      checkRange(to, at, value, { min: 1, max, unit: 'of the evaluated periods' })
    },
    actions: (to, at, value) => checkAlarmActions(to, at, value, subjects),
  })
  checkSpan(into, field, alarm)
}

/** Metrics are stored by the minute. */
function checkPeriod(into: Violations, field: string, value: unknown): void {
  const before = into.length
  checkDuration(into, field, value, limits.alarmPeriodMs)
  if (into.length > before) return
  // `checkDuration` has just accepted it.
  if (durationMs(value as Duration) % limits.alarmPeriodMs.min === 0) return
  into.push({ field, given: describeGiven(value), allowed: 'whole minutes' })
}

function checkSpan(into: Violations, field: string, alarm: Fields): void {
  const { period = '1m', evaluationPeriods = 1 } = alarm
  const refused = new Set(into.map((violation) => violation.field))
  if (refused.has(`${field}.period`) || refused.has(`${field}.evaluationPeriods`)) return
  // Both were accepted.
  const spanMs = durationMs(period as Duration) * (evaluationPeriods as number)
  if (spanMs <= alarmSpanMsMax) return
  const given = `${evaluationPeriods} periods, together more than a day`
  into.push({ field: `${field}.evaluationPeriods`, given, allowed: 'at most a day' })
}

function checkAction(
  into: Violations,
  field: string,
  action: unknown,
  { queues, shaped }: AlarmSubjects,
): void {
  if (!isRecord(action) || 'webhook' in action === 'queue' in action) {
    const allowed = "{ webhook: 'https://…' } or { queue: 'key' }"
    into.push({ field, given: describeGiven(action), allowed })
    return
  }
  checkKeys(into, field, action, ['webhook' in action ? 'webhook' : 'queue', 'on'])
  checkEach(into, field, action, {
    webhook: checkWebhook,
    queue: (to, at, key) => {
      checkOneOf(to, at, key, queues)
      const declared = typeof key === 'string' ? shaped.get(key) : undefined
      if (declared === undefined || (declared.type === 'standard' && !isJobsQueue(declared))) return
      const given = 'a FIFO queue or a jobs queue'
      to.push({ field: at, given, allowed: 'a queue declared with queue({...})' })
    },
    on: (to, at, states) => {
      if (!Array.isArray(states) || states.length === 0) {
        const allowed = `an array of ${alarmStates.join(', ')}`
        to.push({ field: at, given: describeGiven(states), allowed })
        return
      }
      for (const state of states) checkOneOf(to, at, state, alarmStates)
    },
  })
}

/** Does not quote the value: a webhook URL may contain a secret. */
function checkWebhook(into: Violations, field: string, value: unknown): void {
  const url = typeof value === 'string' ? URL.parse(value) : null
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  const { max } = limits.webhookLength
  if (isWeb && url.username === '' && url.password === '' && String(value).length <= max) return
  const allowed = `an http or https URL of at most ${max} characters, without a user or password`
  into.push({ field, given: 'something else', allowed })
}

/** Alarms are stored by name, so a second alarm of the same name would replace the first. */
function checkNames(into: Violations, alarms: readonly unknown[]): void {
  const names = alarms.map((alarm) => (isRecord(alarm) ? alarm['name'] : undefined))
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string' || names.indexOf(name) === index) continue
    const allowed = `a unique name; alarms[${names.indexOf(name)}] already has it`
    into.push({ field: `alarms[${index}].name`, given: describeGiven(name), allowed })
  }
}
