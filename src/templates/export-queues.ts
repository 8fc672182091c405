/** Exports the queues of an app as CloudFormation resources, with their policies and outputs. */
import { formatDuration } from '../core/durations.ts'
import { defaultQueueSettings } from '../core/queue-settings.ts'
import { type ExportedQueue, type ExportPlan, plainText, stagedName } from './export-plan.ts'
import { queueType } from './references.ts'
import { getAtt, ref, sub, type TemplateRecord, type TemplateValue } from './template-text.ts'
import { uniqueName } from './unique-name.ts'

const defaults = defaultQueueSettings

export function exportQueue(plan: ExportPlan, queue: ExportedQueue): TemplateRecord {
  const { settings, tags, queue: name } = queue.planned
  const seconds = (ms: number, what: string): number => wholeSeconds(plan, name, ms, what)
  const unless = (value: number, other: number, write: number): number | undefined =>
    value === other ? undefined : write
  const target = settings.deadLetter
  const fifo = settings.type === 'fifo'
  warnOfOwnSettings(plan, queue)
  return {
    Type: queueType,
    Properties: {
      QueueName: queueName(plan, queue),
      FifoQueue: fifo || undefined,
      ContentBasedDeduplication: settings.deduplicateByContent || undefined,
      DeduplicationScope: settings.deduplicationScope === 'group' ? 'messageGroup' : undefined,
      VisibilityTimeout: seconds(settings.visibilityMs, 'visibility timeout'),
      MessageRetentionPeriod: seconds(settings.retentionMs, 'retention'),
      DelaySeconds: unless(settings.delayMs, defaults.delayMs, seconds(settings.delayMs, 'delay')),
      ReceiveMessageWaitTimeSeconds: unless(
        settings.receiveWaitMs,
        defaults.receiveWaitMs,
        seconds(settings.receiveWaitMs, 'receive wait'),
      ),
      MaximumMessageSize: unless(
        settings.messageBytesMax,
        defaults.messageBytesMax,
        settings.messageBytesMax,
      ),
      RedrivePolicy: target
        ? {
            deadLetterTargetArn: getAtt(logicalIdOf(plan, target.queue), 'Arn'),
            maxReceiveCount: target.maxReceives,
          }
        : undefined,
      SqsManagedSseEnabled: true,
      Tags: exportTags(plan, tags),
    },
  }
}

/** One policy for senders and one for receivers, for this queue only. */
export function exportPolicies(plan: ExportPlan, queue: ExportedQueue): TemplateRecord {
  const { logicalId, stem, declared } = queue
  if (declared === undefined) return {}
  const policy = (description: string, actions: readonly string[]): TemplateRecord => ({
    Type: 'AWS::IAM::ManagedPolicy',
    Properties: {
      Description: description,
      PolicyDocument: {
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Allow',
            Action: actions.map((action) => `sqs:${action}`),
            Resource: getAtt(logicalId, 'Arn'),
          },
        ],
      },
    },
  })
  const of = `the queue ${declared.key} of ${plan.app.name}`
  const look = ['GetQueueAttributes', 'GetQueueUrl']
  const take = ['ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility']
  return {
    [uniqueName(plan.taken, `${stem}ProducerPolicy`)]: policy(`Sends to ${of}.`, [
      'SendMessage',
      ...look,
    ]),
    [uniqueName(plan.taken, `${stem}ConsumerPolicy`)]: policy(`Receives from ${of}.`, [
      ...take,
      ...look,
    ]),
  }
}

export function exportOutputs(plan: ExportPlan, { logicalId }: ExportedQueue): TemplateRecord {
  const output = (suffix: string, value: TemplateValue): TemplateRecord => ({
    Value: value,
    Export: { Name: sub(`\${AWS::StackName}-${logicalId}${suffix}`) },
  })
  // Serverless leaves `${AWS::StackName}` to CloudFormation, so all formats can use it.
  return {
    [uniqueName(plan.taken, `${logicalId}Url`)]: output('Url', ref(logicalId)),
    [uniqueName(plan.taken, `${logicalId}Arn`)]: output('Arn', getAtt(logicalId, 'Arn')),
  }
}

export function logicalIdOf({ queues }: ExportPlan, name: string): string {
  return queues.find(({ planned }) => planned.queue === name)?.logicalId ?? name
}

/** A declared name is the same in all stages. Other names contain the stage. */
function queueName(plan: ExportPlan, { planned, declared }: ExportedQueue): TemplateValue {
  const isFixed = declared?.declared.options.name !== undefined
  return isFixed ? planned.queue : stagedName(plan, planned.queue)
}

function exportTags(
  { format }: ExportPlan,
  tags: Readonly<Record<string, string>>,
): TemplateValue | undefined {
  const entries = Object.entries(tags)
  if (entries.length === 0) return undefined
  return entries.map(([key, value]) => ({
    Key: plainText(format, key),
    Value: plainText(format, value),
  }))
}

/** Rounds up, because SQS only has whole seconds. */
function wholeSeconds(plan: ExportPlan, queue: string, ms: number, what: string): number {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds * 1_000 !== ms) {
    plan.warnings.push(
      `${queue}: SQS has whole seconds; the ${what} of ${formatDuration(ms)} was rounded to ${seconds}s.`,
    )
  }
  return seconds
}

function warnOfOwnSettings({ warnings }: ExportPlan, { planned }: ExportedQueue): void {
  const { ceilings, obeys, history, hidden } = planned.settings
  const own = [
    [ceilings, defaults.ceilings, 'ceilings on concurrency and rate'],
    [obeys, defaults.obeys, 'kill switches'],
    [history, defaults.history, 'retention of finished jobs'],
    [hidden, defaults.hidden, 'secret and personal fields'],
  ] as const
  const lost = own
    .filter(([value, other]) => JSON.stringify(value) !== JSON.stringify(other))
    .map(([, , what]) => what)
  if (lost.length > 0) {
    warnings.push(`${planned.queue}: SQS does not support its ${lost.join(' and its ')}.`)
  }
}
