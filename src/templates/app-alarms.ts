/** The alarms of an app in the terms of CloudWatch: declared alarms and default alarms. */
import type { Alarm } from '../contracts/alarm-declaration.ts'
import { type ResolvedAlarm, resolveAlarms } from '../contracts/resolve-alarms.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { alarmMetrics } from '../core/alarm-metrics.ts'
import {
  cloudWatchComparisons,
  cloudWatchMissingData,
  cloudWatchStatistics,
} from '../core/cloudwatch-words.ts'
import { type ExportedQueue, type ExportPlan, pascalCase } from './export-plan.ts'
import type { StackAlarm } from './stack.ts'
import { uniqueName } from './unique-name.ts'

/** An alarm without its position in a file. */
export interface AppAlarm extends Omit<StackAlarm, 'queue' | 'at'> {
  readonly watched: ExportedQueue
  /** A default alarm, on a dead-letter queue without a declared alarm. */
  readonly isDefault: boolean
}

const queueNamespace = 'AWS/SQS'

/** Leaves out alarms without an SQS metric. Adds a warning for alarms that watch nothing. */
export function appAlarms(plan: ExportPlan): readonly AppAlarm[] {
  const { app, stage } = plan
  const resolved = resolveAlarms({ app, stage, resolved: resolveQueues(app, stage) })
  for (const alarm of app.alarms ?? []) warnOfNothing(plan, alarm, resolved)
  return resolved.flatMap((alarm) => {
    const watched = plan.queues.find(({ planned }) => planned.queue === alarm.rule.of)
    const { namespace } = alarmMetrics[alarm.rule.metric]
    return watched === undefined || namespace !== queueNamespace
      ? []
      : [alarmOf(plan, alarm, watched)]
  })
}

function alarmOf(
  plan: ExportPlan,
  { rule, declared }: ResolvedAlarm,
  watched: ExportedQueue,
): AppAlarm {
  const end = declared === null ? 'NotEmpty' : pascalCase(rule.metric)
  return {
    logicalId: uniqueName(plan.taken, `${watched.stem}${end}Alarm`),
    name: rule.name,
    description: rule.description,
    namespace: queueNamespace,
    metric: alarmMetrics[rule.metric].name,
    watched,
    isDefault: declared === null,
    statistic: cloudWatchStatistics[rule.statistic],
    periodMs: rule.periodMs,
    evaluationPeriods: rule.evaluationPeriods,
    datapointsToAlarm: rule.datapointsToAlarm,
    threshold: rule.threshold,
    comparison: cloudWatchComparisons[rule.comparison],
    treatMissingData: cloudWatchMissingData[rule.missingData],
    severity: rule.severity,
  }
}

function warnOfNothing(
  { warnings }: ExportPlan,
  alarm: Alarm,
  resolved: readonly ResolvedAlarm[],
): void {
  if (!isOnSqs(alarm) || alarm.queue === '*') return
  if (resolved.some(({ declared }) => declared === alarm)) return
  warnings.push(
    `The alarm on the dead letters of '${alarm.queue}' is left out: the queue has no dead-letter queue.`,
  )
}

/** Warns of alarms that templates cannot express. Millrace still evaluates them. */
export function warnOfOwnAlarms({ app, warnings }: ExportPlan): void {
  for (const alarm of app.alarms ?? []) {
    if (isOnSqs(alarm)) continue
    const of = alarm.queue ?? alarm.flow ?? alarm.value
    const figure = figures[alarm.metric] ?? alarm.metric.replaceAll('_', ' ')
    warnings.push(
      `The alarm on the ${figure} of '${of}' is left out: SQS does not have this metric.`,
    )
  }
}

function isOnSqs({ metric }: Alarm): boolean {
  return metric === 'dead_letters' || alarmMetrics[metric].namespace === queueNamespace
}

const figures: Readonly<Partial<Record<Alarm['metric'], string>>> = {
  dead_lettered: 'dead-lettered messages',
  expired: 'expired messages',
  overdue_flows: 'overdue flows',
}
