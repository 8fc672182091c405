/**
 * The alarms of an app in CloudWatch's words, and one on every dead-letter queue that nothing watches.
 */
import { alarmType } from './alarm-reader.ts'
import { type AppAlarm, appAlarms, depthMetric, queueNamespace } from './app-alarms.ts'
import { type ExportedQueue, type ExportPlan, plainText, stagedName } from './export-plan.ts'
import { getAtt, type TemplateRecord, type TemplateValue } from './template-text.ts'
import { uniqueName } from './unique-name.ts'

export function exportAlarms(plan: ExportPlan): TemplateRecord {
  const declared = appAlarms(plan)
  const alarms = [...declared, ...notEmptyAlarms(plan, declared)]
  return Object.fromEntries(
    alarms.map((alarm) => [
      alarm.logicalId,
      { Type: alarmType, Properties: propertiesOf(plan, alarm) },
    ]),
  )
}

/** Dead letters that nobody looks at are lost, so each queue of them has an alarm on its depth. */
function notEmptyAlarms(plan: ExportPlan, declared: readonly AppAlarm[]): readonly AppAlarm[] {
  const watched = new Set(
    declared
      .filter((alarm) => alarm.declared === 'dead_letters')
      .map(({ watched: queue }) => queue),
  )
  const names = new Set(declared.map(({ name }) => name))
  return plan.queues
    .filter((queue) => isDeadLetterQueue(plan, queue) && !watched.has(queue))
    .map((queue) => ({
      logicalId: uniqueName(plan.taken, `${queue.stem}NotEmptyAlarm`),
      name: uniqueName(names, `${queue.planned.queue}-not-empty`).slice(0, 255),
      namespace: queueNamespace,
      metric: depthMetric,
      watched: queue,
      declared: 'dead_letters',
      statistic: 'Maximum',
      periodMs: 60_000,
      evaluationPeriods: 1,
      datapointsToAlarm: 1,
      threshold: 0,
      comparison: 'GreaterThanThreshold',
      treatMissingData: 'notBreaching',
    }))
}

function propertiesOf(plan: ExportPlan, alarm: AppAlarm): TemplateRecord {
  return {
    AlarmName: alarmName(plan, alarm.name),
    Namespace: alarm.namespace,
    MetricName: alarm.metric,
    Dimensions: [{ Name: 'QueueName', Value: getAtt(alarm.watched.logicalId, 'QueueName') }],
    Statistic: alarm.statistic,
    Period: alarm.periodMs / 1_000,
    EvaluationPeriods: alarm.evaluationPeriods,
    DatapointsToAlarm: alarm.datapointsToAlarm,
    Threshold: alarm.threshold,
    ComparisonOperator: alarm.comparison,
    TreatMissingData: alarm.treatMissingData,
  }
}

function alarmName(plan: ExportPlan, name: string): TemplateValue {
  return name.startsWith(`${plan.app.name}-${plan.stage}-`)
    ? stagedName(plan, name)
    : plainText(plan.format, name)
}

function isDeadLetterQueue({ queues }: ExportPlan, { planned }: ExportedQueue): boolean {
  return queues.some((queue) => queue.planned.settings.deadLetter?.queue === planned.queue)
}
