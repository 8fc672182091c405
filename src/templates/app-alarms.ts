/** The alarms that an app declares, in CloudWatch's words: one for each queue that they are about. */
import type { Alarm, AlarmMetric } from '../contracts/alarm-declaration.ts'
import { durationMs, formatDuration } from '../core/durations.ts'
import type { ExportedQueue, ExportPlan } from './export-plan.ts'
import type { StackAlarm } from './stack.ts'
import { uniqueName } from './unique-name.ts'

/** What is known of an alarm before it is anywhere. */
export interface AppAlarm extends Omit<StackAlarm, 'description' | 'queue' | 'at'> {
  readonly watched: ExportedQueue
  /** What the app calls it; dead letters and depth are one metric of SQS. */
  readonly declared: AlarmMetric
}

export const depthMetric = 'ApproximateNumberOfMessagesVisible'
export const queueNamespace = 'AWS/SQS'

const metrics = {
  dead_letters: { metric: depthMetric, word: 'dead-letters', stem: 'Depth' },
  depth: { metric: depthMetric, word: 'depth', stem: 'Depth' },
  oldest_age: {
    metric: 'ApproximateAgeOfOldestMessage',
    word: 'oldest-age',
    stem: 'OldestAge',
  },
} as const

const statistics = {
  maximum: 'Maximum',
  minimum: 'Minimum',
  average: 'Average',
  sum: 'Sum',
} as const

const missingData = {
  missing: 'missing',
  ignore: 'ignore',
  breaching: 'breaching',
  not_breaching: 'notBreaching',
} as const

/** What SQS has no metric for is left out, with a warning to the plan. */
export function appAlarms(plan: ExportPlan): readonly AppAlarm[] {
  const names = new Set<string>()
  return (plan.app.alarms ?? []).flatMap((alarm) => {
    if (alarm.metric === 'error_rate') {
      plan.warnings.push(
        `The alarm on the error rate of '${alarm.queue}' is left out: SQS has no such metric.`,
      )
      return []
    }
    const { metric, word, stem } = metrics[alarm.metric]
    warnOfPeriod(plan, alarm)
    return watchedQueues(plan, alarm).map((watched) => ({
      logicalId: uniqueName(plan.taken, `${watched.stem}${stem}Alarm`),
      name: uniqueName(names, nameOf(alarm, watched, word)).slice(0, 255),
      namespace: queueNamespace,
      metric,
      watched,
      declared: alarm.metric,
      ...conditionOf(alarm),
    }))
  })
}

type Condition = Pick<
  StackAlarm,
  | 'statistic'
  | 'periodMs'
  | 'evaluationPeriods'
  | 'datapointsToAlarm'
  | 'threshold'
  | 'comparison'
  | 'treatMissingData'
>

function conditionOf(alarm: Alarm): Condition {
  const { evaluationPeriods = 1, datapointsToAlarm, missingData: missing = 'missing' } = alarm
  return {
    statistic: statistics[alarm.statistic ?? 'maximum'],
    periodMs: periodMs(alarm),
    evaluationPeriods,
    datapointsToAlarm: datapointsToAlarm ?? evaluationPeriods,
    threshold: alarm.threshold,
    comparison: alarm.comparison === 'above' ? 'GreaterThanThreshold' : 'LessThanThreshold',
    treatMissingData: missingData[missing],
  }
}

/** The queues that an alarm is about; `'*'` is every one for which it makes sense. */
function watchedQueues(plan: ExportPlan, { metric, queue: key }: Alarm): readonly ExportedQueue[] {
  const declared = plan.queues.filter(
    (queue) => queue.declared !== undefined && (key === '*' || queue.declared.key === key),
  )
  if (metric !== 'dead_letters') return declared
  const targets = declared.flatMap(({ planned }) => {
    const target = planned.settings.deadLetter?.queue
    return plan.queues.filter((queue) => queue.planned.queue === target)
  })
  if (targets.length === 0 && key !== '*') {
    plan.warnings.push(`The alarm on the dead letters of '${key}' is left out: it has none.`)
  }
  return [...new Set(targets)]
}

function nameOf({ name, queue }: Alarm, { planned }: ExportedQueue, word: string): string {
  if (name === undefined) return `${planned.queue}-${word}`
  return queue === '*' ? `${name}-${planned.queue}` : name
}

/** CloudWatch has the metrics of SQS once a minute. */
function periodMs({ period = '1m' }: Alarm): number {
  return Math.ceil(durationMs(period) / 60_000) * 60_000
}

function warnOfPeriod({ warnings }: ExportPlan, alarm: Alarm): void {
  const ms = durationMs(alarm.period ?? '1m')
  const writtenMs = periodMs(alarm)
  if (writtenMs === ms) return
  warnings.push(
    `The alarm on ${alarm.metric} of '${alarm.queue}' has a period of ${formatDuration(ms)}, which became ${formatDuration(writtenMs)}: SQS has one datapoint a minute.`,
  )
}
