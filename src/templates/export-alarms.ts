/** Exports the alarms of an app as resources of a template. */
import { alarmType, severityTag } from './alarm-reader.ts'
import { type AppAlarm, appAlarms, warnOfOwnAlarms } from './app-alarms.ts'
import { type ExportPlan, plainText, stagedName } from './export-plan.ts'
import { getAtt, type TemplateRecord, type TemplateValue } from './template-text.ts'

export function exportAlarms(plan: ExportPlan): TemplateRecord {
  warnOfOwnAlarms(plan)
  return Object.fromEntries(
    appAlarms(plan).map((alarm) => [
      alarm.logicalId,
      { Type: alarmType, Properties: propertiesOf(plan, alarm) },
    ]),
  )
}

function propertiesOf(plan: ExportPlan, alarm: AppAlarm): TemplateRecord {
  const { description, severity } = alarm
  return {
    AlarmName: alarmName(plan, alarm.name),
    ...(description !== null && { AlarmDescription: plainText(plan.format, description) }),
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
    ...(severity !== undefined && { Tags: [{ Key: severityTag, Value: severity }] }),
  }
}

function alarmName(plan: ExportPlan, name: string): TemplateValue {
  return name.startsWith(`${plan.app.name}-${plan.stage}-`)
    ? stagedName(plan, name)
    : plainText(plan.format, name)
}
