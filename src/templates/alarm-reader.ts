/** Reads CloudWatch alarms on metrics of queues. Other alarms are ignored. */
import { alarmSpanMsMax } from '../contracts/check-alarms.ts'
import { metricOfSqs } from '../core/alarm-metrics.ts'
import { type AlarmSeverity, alarmSeverities } from '../core/alarm-rule.ts'
import type { Range } from '../core/limits.ts'
import type { Evaluator } from './evaluator.ts'
import { stringOf } from './node.ts'
import { physicalName } from './physical-name.ts'
import { PropertyReader } from './property-reader.ts'
import type { StackAlarm } from './stack.ts'
import type { Resource } from './template.ts'

export const alarmType = 'AWS::CloudWatch::Alarm'
/** A tag, because CloudWatch alarms have no severity. */
export const severityTag = 'severity'

const comparisons = [
  'GreaterThanOrEqualToThreshold',
  'GreaterThanThreshold',
  'LessThanOrEqualToThreshold',
  'LessThanThreshold',
] as const
const statistics = ['SampleCount', 'Average', 'Sum', 'Minimum', 'Maximum'] as const
const missingData = ['breaching', 'notBreaching', 'ignore', 'missing'] as const

const periodSeconds: Range = { min: 10, max: 86_400, unit: 'seconds' }
const periods: Range = { min: 1, max: 10_080, unit: 'periods' }

export function readAlarm(evaluator: Evaluator, resource: Resource): StackAlarm | undefined {
  const reader = new PropertyReader(evaluator, resource.properties, resource)
  const leave = (name: string, why: string): undefined => {
    reader.warn(name, `${why}, so the alarm is ignored here.`)
    return undefined
  }
  if (reader.has('Metrics')) return leave('Metrics', 'The alarm uses metric math')
  const namespace = stringOf(reader.value('Namespace'))
  if (namespace !== 'AWS/SQS') return leave('Namespace', 'The alarm does not watch AWS/SQS')
  const queue = watchedQueue(reader)
  if (queue === undefined) return leave('Dimensions', 'The alarm has no QueueName dimension')
  for (const name of ['MetricName', 'Period', 'EvaluationPeriods', 'Threshold']) {
    if (!reader.has(name)) reader.refuse(name, `An alarm needs ${name}.`)
  }
  const metric = reader.text('MetricName')
  const period = reader.wholeNumber('Period', periodSeconds)
  const evaluationPeriods = reader.wholeNumber('EvaluationPeriods', periods)
  const threshold = reader.number('Threshold')
  const comparison = readComparison(reader)
  const statistic = readStatistic(reader)
  const name = readName(evaluator, resource, reader)
  if (metric === undefined || period === undefined || threshold === undefined) return undefined
  if (evaluationPeriods === undefined || comparison === undefined) return undefined
  if (statistic === undefined || name === undefined) return undefined
  const severity = readSeverity(reader)
  warnOfUnknown(reader, { metric, statistic, spanS: period * evaluationPeriods })
  return {
    logicalId: resource.logicalId,
    name,
    description: stringOf(reader.value('AlarmDescription')) ?? null,
    namespace,
    metric,
    queue,
    statistic,
    periodMs: period * 1_000,
    evaluationPeriods,
    datapointsToAlarm:
      reader.wholeNumber('DatapointsToAlarm', { ...periods, max: evaluationPeriods }) ??
      evaluationPeriods,
    threshold,
    comparison,
    treatMissingData: reader.word('TreatMissingData', missingData) ?? 'missing',
    ...(severity !== undefined && { severity }),
    at: resource.at,
  }
}

function watchedQueue(reader: PropertyReader): string | undefined {
  for (const node of reader.list('Dimensions') ?? []) {
    const dimension = reader.inside(node)
    if (stringOf(dimension.value('Name')) === 'QueueName') return dimension.text('Value')
  }
  return undefined
}

/** Warns of alarms that are recorded but cannot be evaluated here. */
function warnOfUnknown(
  reader: PropertyReader,
  alarm: { readonly metric: string; readonly statistic: string; readonly spanS: number },
): void {
  const warn = (name: string, why: string): void =>
    reader.warn(name, `${why}, so the alarm is not evaluated here.`)
  if (metricOfSqs(alarm.metric) === undefined) warn('MetricName', 'This metric is not available')
  if (!statistics.some((name) => name === alarm.statistic)) {
    warn('ExtendedStatistic', 'Percentiles are not available')
  }
  if (alarm.spanS * 1_000 > alarmSpanMsMax) {
    warn('EvaluationPeriods', 'The alarm evaluates more than one day')
  }
}

function readSeverity(reader: PropertyReader): AlarmSeverity | undefined {
  for (const node of reader.list('Tags') ?? []) {
    const tag = reader.inside(node)
    if (stringOf(tag.value('Key'))?.toLowerCase() !== severityTag) continue
    const value = stringOf(tag.value('Value'))?.toLowerCase()
    return alarmSeverities.find((severity) => severity === value)
  }
  return undefined
}

function readComparison(reader: PropertyReader): string | undefined {
  const written = stringOf(reader.value('ComparisonOperator'))
  const whole = comparisons.find((comparison) => comparison === `${written}Threshold`)
  if (whole !== undefined) {
    reader.warn(
      'ComparisonOperator',
      `'${written}' is not a value of CloudFormation; ${whole} is used.`,
    )
    return whole
  }
  if (!reader.has('ComparisonOperator')) {
    reader.refuse('ComparisonOperator', 'An alarm needs ComparisonOperator.')
  }
  return reader.word('ComparisonOperator', comparisons)
}

/** A percentile has its own property. */
function readStatistic(reader: PropertyReader): string | undefined {
  if (reader.has('ExtendedStatistic')) return reader.text('ExtendedStatistic')
  if (!reader.has('Statistic')) {
    reader.refuse('Statistic', 'An alarm needs Statistic or ExtendedStatistic.')
  }
  return reader.word('Statistic', statistics)
}

function readName(
  evaluator: Evaluator,
  { logicalId }: Resource,
  reader: PropertyReader,
): string | undefined {
  if (reader.value('AlarmName') !== undefined) return reader.text('AlarmName')
  return physicalName({ stackName: evaluator.template.stackName, logicalId, lengthMax: 255 })
}
