/**
 * The alarms of an app in CloudWatch's words, and one on every dead-letter queue that nothing watches.
 */
import type { Alarm } from '../contracts/alarm-declaration.ts'
import { durationMs, formatDuration } from '../core/durations.ts'
import { alarmType } from './alarm-reader.ts'
import { type ExportedQueue, type ExportPlan, plainText, stagedName } from './export-plan.ts'
import { getAtt, type TemplateRecord, type TemplateValue } from './template-text.ts'
import { uniqueName } from './unique-name.ts'

const metrics = {
  dead_letters: { metric: 'ApproximateNumberOfMessagesVisible', word: 'dead-letters' },
  depth: { metric: 'ApproximateNumberOfMessagesVisible', word: 'depth' },
  oldest_age: { metric: 'ApproximateAgeOfOldestMessage', word: 'oldest-age' },
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

export function exportAlarms(plan: ExportPlan): TemplateRecord {
  const names = new Set<string>()
  const watched = new Set<string>()
  const resources: Record<string, TemplateValue> = {}
  const add = (stem: string, properties: (name: string) => TemplateRecord, name: string): void => {
    const logicalId = uniqueName(plan.taken, `${stem}Alarm`)
    resources[logicalId] = { Type: alarmType, Properties: properties(uniqueName(names, name)) }
  }
  for (const alarm of plan.app.alarms ?? []) {
    if (alarm.metric === 'error_rate') {
      plan.warnings.push(
        `The alarm on the error rate of '${alarm.queue}' is left out: SQS has no such metric.`,
      )
      continue
    }
    const { metric, word } = metrics[alarm.metric]
    warnOfPeriod(plan, alarm)
    for (const queue of watchedQueues(plan, alarm)) {
      if (alarm.metric === 'dead_letters') watched.add(queue.logicalId)
      const stem = queue.stem + (word === 'dead-letters' ? 'Depth' : pascal(word))
      add(
        stem,
        (name) => declaredAlarm(plan, { alarm, queue, metric, name }),
        nameOf(alarm, queue, word),
      )
    }
  }
  for (const queue of plan.queues.filter((one) => isDeadLetterQueue(plan, one))) {
    if (watched.has(queue.logicalId)) continue
    const name = `${queue.planned.queue}-not-empty`
    add(`${queue.stem}NotEmpty`, (unique) => notEmpty(plan, queue, unique), name)
  }
  return resources
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

interface DeclaredAlarm {
  readonly alarm: Alarm
  readonly queue: ExportedQueue
  readonly metric: string
  readonly name: string
}

function declaredAlarm(
  plan: ExportPlan,
  { alarm, queue, metric, name }: DeclaredAlarm,
): TemplateRecord {
  const { evaluationPeriods = 1, datapointsToAlarm, missingData: missing = 'missing' } = alarm
  return {
    AlarmName: alarmName(plan, name),
    ...watch(queue, metric),
    Statistic: statistics[alarm.statistic ?? 'maximum'],
    Period: periodSeconds(alarm),
    EvaluationPeriods: evaluationPeriods,
    DatapointsToAlarm: datapointsToAlarm ?? evaluationPeriods,
    Threshold: alarm.threshold,
    ComparisonOperator: alarm.comparison === 'above' ? 'GreaterThanThreshold' : 'LessThanThreshold',
    TreatMissingData: missingData[missing],
  }
}

function notEmpty(plan: ExportPlan, queue: ExportedQueue, name: string): TemplateRecord {
  return {
    AlarmName: alarmName(plan, name),
    ...watch(queue, metrics.dead_letters.metric),
    Statistic: 'Maximum',
    Period: 60,
    EvaluationPeriods: 1,
    DatapointsToAlarm: 1,
    Threshold: 0,
    ComparisonOperator: 'GreaterThanThreshold',
    TreatMissingData: 'notBreaching',
  }
}

function watch({ logicalId }: ExportedQueue, metric: string): TemplateRecord {
  return {
    Namespace: 'AWS/SQS',
    MetricName: metric,
    Dimensions: [{ Name: 'QueueName', Value: getAtt(logicalId, 'QueueName') }],
  }
}

function nameOf({ name, queue }: Alarm, { planned }: ExportedQueue, word: string): string {
  if (name === undefined) return `${planned.queue}-${word}`
  return queue === '*' ? `${name}-${planned.queue}` : name
}

function alarmName(plan: ExportPlan, name: string): TemplateValue {
  const text = name.slice(0, 255)
  return text.startsWith(`${plan.app.name}-${plan.stage}-`)
    ? stagedName(plan, text)
    : plainText(plan.format, text)
}

/** CloudWatch has the metrics of SQS once a minute. */
function periodSeconds({ period = '1m' }: Alarm): number {
  return Math.ceil(durationMs(period) / 60_000) * 60
}

function warnOfPeriod({ warnings }: ExportPlan, alarm: Alarm): void {
  const ms = durationMs(alarm.period ?? '1m')
  const writtenMs = periodSeconds(alarm) * 1_000
  if (writtenMs === ms) return
  warnings.push(
    `The alarm on ${alarm.metric} of '${alarm.queue}' has a period of ${formatDuration(ms)}, which became ${formatDuration(writtenMs)}: SQS has one datapoint a minute.`,
  )
}

function isDeadLetterQueue({ queues }: ExportPlan, { planned }: ExportedQueue): boolean {
  return queues.some((queue) => queue.planned.settings.deadLetter?.queue === planned.queue)
}

function pascal(word: string): string {
  return word.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
