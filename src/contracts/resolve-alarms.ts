/**
 * Turns the alarms of an app into the rules to evaluate: one for each queue or flow that an alarm names, with
 * every default filled in. Adds one for each dead-letter queue that no alarm watches.
 */
import { alarmMetrics } from '../core/alarm-metrics.ts'
import type {
  AlarmMetricName,
  AlarmRule,
  AlarmSeverity,
  AlarmState,
  AlarmTarget,
} from '../core/alarm-rule.ts'
import { durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import type { Alarm, AlarmAction } from './alarm-declaration.ts'
import type { App } from './define-app.ts'
import { scopedName, valueName } from './resolve-names.ts'
import type { ResolvedQueues } from './resolve-queues.ts'

export interface ResolvedAlarm {
  readonly rule: AlarmRule
  /** The declared alarm; null for a default alarm. */
  readonly declared: Alarm | null
}

export interface AlarmScope {
  readonly app: App
  readonly stage: string
  readonly resolved: ResolvedQueues
}

export function resolveAlarms(scope: AlarmScope): readonly ResolvedAlarm[] {
  const { app } = scope
  const taken = new Set<string>()
  const declared = (app.alarms ?? []).flatMap((alarm) =>
    subjectsOf(scope, alarm).map((of) => ({
      rule: ruleOf(scope, alarm, of, uniqueName(taken, nameOf(scope, alarm, of))),
      declared: alarm,
    })),
  )
  const watched = new Set(
    declared.flatMap(({ rule, declared: { metric } }) =>
      metric === 'dead_letters' ? rule.of : [],
    ),
  )
  const byDefault = [...deadLetterQueues(scope)]
    .filter((queue) => !watched.has(queue))
    .map((queue) => ({
      rule: notEmptyRule(queue, {
        name: uniqueName(taken, notEmptyName(queue)),
        targets: targetsOf(scope, app.alarmActions),
      }),
      declared: null,
    }))
  return [...declared, ...byDefault]
}

export function notEmptyName(queue: string): string {
  return `${queue}-not-empty`
}

/** Unnoticed dead letters are lost work, so each dead-letter queue has an alarm on its depth. */
export function notEmptyRule(
  queue: string,
  { name, targets = [] }: Pick<AlarmRule, 'name'> & Partial<Pick<AlarmRule, 'targets'>>,
): AlarmRule {
  return {
    name,
    description: null,
    severity: 'critical',
    metric: 'depth',
    of: queue,
    statistic: 'maximum',
    periodMs: 60_000,
    evaluationPeriods: 1,
    datapointsToAlarm: 1,
    threshold: 0,
    comparison: 'above',
    missingData: 'not_breaching',
    targets,
  }
}

function ruleOf(scope: AlarmScope, alarm: Alarm, of: string, name: string): AlarmRule {
  const metric = metricOf(alarm)
  const { evaluationPeriods = 1, period = '1m' } = alarm
  return {
    name,
    description: alarm.description ?? null,
    severity: alarm.severity ?? severityOf(scope, metric, of),
    metric,
    of,
    statistic: alarm.statistic ?? alarmMetrics[metric].statistic,
    periodMs: durationMs(period),
    evaluationPeriods,
    datapointsToAlarm: alarm.datapointsToAlarm ?? evaluationPeriods,
    threshold: alarm.threshold,
    comparison: alarm.comparison,
    missingData: alarm.missingData ?? 'missing',
    targets: targetsOf(scope, alarm.actions ?? scope.app.alarmActions),
  }
}

function metricOf({ metric }: Alarm): AlarmMetricName {
  return metric === 'dead_letters' ? 'depth' : metric
}

function severityOf(scope: AlarmScope, metric: AlarmMetricName, of: string): AlarmSeverity {
  return metric === 'depth' && deadLetterQueues(scope).has(of) ? 'critical' : 'warning'
}

function deadLetterQueues({ resolved }: AlarmScope): ReadonlySet<string> {
  return new Set(resolved.planned.flatMap(({ settings }) => settings.deadLetter?.queue ?? []))
}

/** The names in the store that an alarm watches. `'*'` means every queue or flow that has the metric. */
function subjectsOf(scope: AlarmScope, alarm: Alarm): readonly string[] {
  if (alarm.metric === 'value') {
    return [valueName(alarm.value, { app: scope.app.name, stage: scope.stage })]
  }
  if (alarm.metric === 'overdue_flows') return flowNames(scope, alarm.flow)
  const { queues, planned } = scope.resolved
  const names = queues
    .filter(({ key }) => alarm.queue === '*' || key === alarm.queue)
    .map(({ name }) => name)
  if (alarm.metric !== 'dead_letters') return names
  const targets = planned
    .filter(({ queue }) => names.includes(queue))
    .flatMap(({ settings }) => settings.deadLetter?.queue ?? [])
  return [...new Set(targets)]
}

function flowNames({ app, stage }: AlarmScope, flow: string): readonly string[] {
  return [...Object.keys({ ...app.flows }), ...Object.keys({ ...app.chains })]
    .filter((key) => flow === '*' || key === flow)
    .map((key) => scopedName(key, { app: app.name, stage }))
}

/** Apps and stages share a store, so the name gets the app and the stage as a prefix. */
function nameOf({ app, stage }: AlarmScope, alarm: Alarm, of: string): string {
  const scope = `${app.name}-${stage}-`
  const start = of.startsWith(scope) || alarm.queue !== undefined ? of : `${scope}${of}`
  if (alarm.name === undefined) return alarm.metric === 'value' ? start : `${start}-${word(alarm)}`
  if (alarm.queue === '*' || alarm.flow === '*') return `${start}-${alarm.name}`
  return alarm.name.startsWith(scope) ? alarm.name : `${scope}${alarm.name}`
}

function word({ metric }: Alarm): string {
  return metric === 'overdue_flows' ? 'overdue' : metric.replaceAll('_', '-')
}

/** Leaves room for the number that makes equal names unique. */
const nameLengthMax = limits.alarmNameLength.max - 5

function uniqueName(taken: Set<string>, wanted: string): string {
  const start = wanted.slice(0, nameLengthMax)
  let name = start
  for (let count = 2; taken.has(name); count += 1) name = `${start}${count}`
  taken.add(name)
  return name
}

const defaultActionStates: readonly AlarmState[] = ['ALARM', 'OK']

function targetsOf(
  { resolved }: AlarmScope,
  actions: readonly AlarmAction[] = [],
): readonly AlarmTarget[] {
  return actions.map((action) => {
    const on = action.on ?? defaultActionStates
    if ('webhook' in action) return { kind: 'webhook', target: action.webhook, on }
    const queue = resolved.queues.find(({ key }) => key === action.queue)
    return { kind: 'queue', target: queue?.name ?? action.queue, on }
  })
}
