/** A template that is written and read again must say the same, for every app. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { resolveQueues } from '../../src/contracts/resolve-queues.ts'
import { durationMs } from '../../src/core/durations.ts'
import { defaultQueueSettings } from '../../src/core/queue-settings.ts'
import {
  type Alarm,
  type App,
  alarm,
  chain,
  defineApp,
  fifo,
  flow,
  queue,
  schedule,
} from '../../src/index.ts'
import {
  type ExportedTemplate,
  type ExportFormat,
  exportTemplate,
} from '../../src/templates/export-template.ts'
import type { Stack } from '../../src/templates/stack.ts'
import { randomApp } from './random-app.ts'
import { readFiles, stackOf } from './reading.ts'

const academy = defineApp('academy', {
  queues: {
    video: queue({
      visibilityTimeout: '5m',
      deadLetter: { after: 3 },
      concurrency: 3,
      tags: { team: 'media', odd: 'a ${self:custom.x} b' },
    }),
    attempts: fifo({ deduplication: 'content', deduplicationScope: 'group' }),
    lite: queue({ deadLetter: { queue: 'failed' }, obeys: 'LLM_PAUSED' }),
    failed: queue({ name: 'academy-failed', retention: '14d' }),
  },
  alarms: [
    alarm.depth('*').above(100, { period: '5m', evaluationPeriods: 3, datapointsToAlarm: 2 }),
    alarm.dead('video').above(10, { name: 'video is stuck' }),
    alarm.oldestAge('video').below(5, { statistic: 'average', missingData: 'not_breaching' }),
    alarm.errorRate('*').above(0.05),
  ],
})

const formats: readonly ExportFormat[] = ['cloudformation', 'sam', 'serverless']

async function readBack(
  { text }: ExportedTemplate,
  format: ExportFormat,
  stage: string,
): Promise<Stack> {
  const name = format === 'serverless' ? 'serverless.yml' : 'template.yaml'
  const options = format === 'serverless' ? { stage } : { parameters: { Stage: stage } }
  return stackOf(await readFiles({ [name]: text }, options))
}

/** What an app says about its queues in words that SQS has. */
function declared(app: App, stage: string): unknown {
  return resolveQueues(app, stage).planned.map(({ queue: name, settings, tags }) => {
    const { ceilings, obeys, history, ...known } = settings
    return { name, settings: known, tags }
  })
}

function read({ queues }: Stack): unknown {
  return queues.map(({ name, settings, tags }) => {
    const full = { ...defaultQueueSettings, type: 'standard', ...settings }
    const { ceilings, obeys, history, annotations, deadLetterSources, ...known } = full
    assert.deepEqual(annotations, { SqsManagedSseEnabled: 'true' })
    return { name, settings: known, tags }
  })
}

const sqsNames: Readonly<Partial<Record<Alarm['metric'], string>>> = {
  dead_letters: 'ApproximateNumberOfMessagesVisible',
  depth: 'ApproximateNumberOfMessagesVisible',
  in_flight: 'ApproximateNumberOfMessagesNotVisible',
  delayed: 'ApproximateNumberOfMessagesDelayed',
  oldest_age: 'ApproximateAgeOfOldestMessage',
  sent: 'NumberOfMessagesSent',
  received: 'NumberOfMessagesReceived',
  deleted: 'NumberOfMessagesDeleted',
  empty_receives: 'NumberOfEmptyReceives',
}

const comparisons: Readonly<Record<string, string>> = {
  GreaterThanThreshold: 'above',
  GreaterThanOrEqualToThreshold: 'at_or_above',
  LessThanThreshold: 'below',
  LessThanOrEqualToThreshold: 'at_or_below',
}

/** The app's word for one of CloudWatch's. */
function ours(name: string): string {
  const snake = name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
  return comparisons[name] ?? snake
}

/** The alarms that an app declares, and one on each dead-letter queue without, one text each. */
function declaredAlarms(app: App, stage: string): readonly string[] {
  const { planned, queues } = resolveQueues(app, stage)
  const target = (name: string): string | undefined =>
    planned.find(({ queue: one }) => one === name)?.settings.deadLetter?.queue
  const targets = new Set(planned.flatMap(({ settings }) => settings.deadLetter?.queue ?? []))
  const watched = new Set<string>()
  const alarms = (app.alarms ?? []).flatMap((alarm) => {
    const named = queues.filter(({ key }) => alarm.queue === '*' || alarm.queue === key)
    const names = named.map(({ name }) => (alarm.metric === 'dead_letters' ? target(name) : name))
    const { evaluationPeriods: periods = 1, missingData = 'missing', comparison } = alarm
    return [...new Set(names)].flatMap((name) => {
      const metric = sqsNames[alarm.metric]
      if (name === undefined || metric === undefined) return []
      if (alarm.metric === 'dead_letters') watched.add(name)
      const statistic = alarm.statistic ?? (metric.startsWith('Num') ? 'sum' : 'maximum')
      const words = [name, metric, statistic, durationMs(alarm.period ?? '1m')]
      const counts = [periods, alarm.datapointsToAlarm ?? periods, alarm.threshold]
      const severity =
        alarm.severity ?? (targets.has(name) && metric === sqsNames.depth ? 'critical' : 'warning')
      const texts = [missingData, severity, alarm.description ?? null]
      return [JSON.stringify([...words, ...counts, comparison, ...texts])]
    })
  })
  const others = [...targets].filter((name) => !watched.has(name))
  const condition = ['maximum', 60_000, 1, 1, 0, 'above', 'not_breaching', 'critical', null]
  const byDefault = others.map((name) => JSON.stringify([name, sqsNames.depth, ...condition]))
  return [...alarms, ...byDefault].toSorted()
}

function readAlarms({ alarms }: Stack): readonly string[] {
  assert.equal(new Set(alarms.map(({ name }) => name)).size, alarms.length)
  return alarms
    .map((alarm) => {
      const words = [alarm.queue, alarm.metric, ours(alarm.statistic), alarm.periodMs]
      const counts = [alarm.evaluationPeriods, alarm.datapointsToAlarm, alarm.threshold]
      const texts = [ours(alarm.treatMissingData), alarm.severity, alarm.description]
      return JSON.stringify([...words, ...counts, ours(alarm.comparison), ...texts])
    })
    .toSorted()
}

describe('a template made from an app', () => {
  test.each(formats)('gives the same queues when it is read again: %s', async (format) => {
    for (const stage of ['dev', 'prod']) {
      const exported = exportTemplate({ app: academy, stage: 'dev', format })
      assert.deepEqual(read(await readBack(exported, format, stage)), declared(academy, stage))
    }
  })

  test('gives the same queues and alarms for random apps, in every format', async () => {
    const cases = fc.record({ app: randomApp, format: fc.constantFrom(...formats) })
    await fc.assert(
      fc.asyncProperty(cases, async ({ app, format }) => {
        const exported = exportTemplate({ app, stage: 'dev', format })
        const stack = await readBack(exported, format, 'dev')
        assert.deepEqual(read(stack), declared(app, 'dev'))
        assert.deepEqual(readAlarms(stack), declaredAlarms(app, 'dev'))
        assert.equal(
          new Set(stack.queues.map(({ logicalId }) => logicalId)).size,
          stack.queues.length,
        )
      }),
      { numRuns: 60 },
    )
  })

  test('gives the same alarms in every format, also as JSON', async () => {
    const alarmsOf = async (format: ExportFormat, syntax: 'yaml' | 'json'): Promise<unknown> => {
      const exported = exportTemplate({ app: academy, stage: 'dev', format, syntax })
      const { alarms } = await readBack(exported, format, 'dev')
      return alarms.map(({ at, ...alarm }) => alarm)
    }
    const expected = await alarmsOf('cloudformation', 'yaml')
    assert.deepEqual(await alarmsOf('cloudformation', 'json'), expected)
    assert.deepEqual(await alarmsOf('sam', 'yaml'), expected)
    assert.deepEqual(await alarmsOf('serverless', 'yaml'), expected)
  })

  test('has the alarms of the app, and one on each dead-letter queue without', async () => {
    const exported = exportTemplate({ app: academy, stage: 'dev', format: 'cloudformation' })
    const { alarms } = await readBack(exported, 'cloudformation', 'prod')
    assert.deepEqual(
      alarms.map(({ name, queue: watched, metric, comparison, threshold }) => [
        name,
        watched,
        metric.replace(/^Approximate/, ''),
        comparison.replace(/Threshold$/, ''),
        threshold,
      ]),
      [
        [
          'academy-prod-video-depth',
          'academy-prod-video',
          'NumberOfMessagesVisible',
          'GreaterThan',
          100,
        ],
        [
          'academy-prod-attempts.fifo-depth',
          'academy-prod-attempts.fifo',
          'NumberOfMessagesVisible',
          'GreaterThan',
          100,
        ],
        [
          'academy-prod-lite-depth',
          'academy-prod-lite',
          'NumberOfMessagesVisible',
          'GreaterThan',
          100,
        ],
        ['academy-failed-depth', 'academy-failed', 'NumberOfMessagesVisible', 'GreaterThan', 100],
        [
          'academy-prod-video is stuck',
          'academy-prod-video-dlq',
          'NumberOfMessagesVisible',
          'GreaterThan',
          10,
        ],
        [
          'academy-prod-video-oldest-age',
          'academy-prod-video',
          'AgeOfOldestMessage',
          'LessThan',
          5,
        ],
        ['academy-failed-not-empty', 'academy-failed', 'NumberOfMessagesVisible', 'GreaterThan', 0],
      ],
    )
    const [first, , , , , age] = alarms
    assert.deepEqual(
      [first?.periodMs, first?.evaluationPeriods, first?.datapointsToAlarm],
      [300_000, 3, 2],
    )
    assert.deepEqual([age?.statistic, age?.treatMissingData], ['Average', 'notBreaching'])
  })

  test('says what SQS has no word for', () => {
    const { warnings, text } = exportTemplate({ app: academy, stage: 'dev', format: 'sam' })
    assert.deepEqual(warnings, [
      'academy-dev-video: SQS does not support its ceilings on concurrency and rate.',
      'academy-dev-lite: SQS does not support its kill switches.',
      "The alarm on the error rate of '*' is left out: SQS does not have this metric.",
    ])
    for (const warning of warnings) assert.ok(text.includes(`# Note: ${warning}`))
  })

  test('says which parts of the app only Millrace runs', () => {
    const app = defineApp('a', {
      queues: { units: queue(), ticks: queue() },
      flows: { work: flow({ units: 'units' }) },
      chains: { steps: chain({ steps: [{ name: 'one', queue: 'units' }] }) },
      schedules: { hourly: schedule({ every: '1h', send: { queue: 'ticks' } }) },
    })
    const { warnings } = exportTemplate({ app, stage: 'dev', format: 'cloudformation' })
    assert.deepEqual(
      warnings,
      ['flows', 'chains', 'schedules'].map(
        (what) => `SQS does not support the ${what} of the app.`,
      ),
    )
  })

  test('says what it had to round', () => {
    const app = defineApp('a', {
      queues: { q: queue({ visibilityTimeout: '1500ms' }) },
    })
    const { warnings } = exportTemplate({ app, stage: 'dev', format: 'cloudformation' })
    assert.deepEqual(warnings, [
      'a-dev-q: SQS has whole seconds; the visibility timeout of 1500ms was rounded to 2s.',
    ])
  })

  test('gives each role what it needs on its queue and nothing else', () => {
    const { text } = exportTemplate({
      app: academy,
      stage: 'dev',
      format: 'cloudformation',
      syntax: 'json',
    })
    const { Resources, Outputs } = JSON.parse(text)
    const statement = (id: string): unknown => Resources[id].Properties.PolicyDocument.Statement
    assert.deepEqual(statement('VideoProducerPolicy'), [
      {
        Effect: 'Allow',
        Action: ['sqs:SendMessage', 'sqs:GetQueueAttributes', 'sqs:GetQueueUrl'],
        Resource: { 'Fn::GetAtt': ['VideoQueue', 'Arn'] },
      },
    ])
    assert.deepEqual(statement('VideoConsumerPolicy'), [
      {
        Effect: 'Allow',
        Action: [
          'sqs:ReceiveMessage',
          'sqs:DeleteMessage',
          'sqs:ChangeMessageVisibility',
          'sqs:GetQueueAttributes',
          'sqs:GetQueueUrl',
        ],
        Resource: { 'Fn::GetAtt': ['VideoQueue', 'Arn'] },
      },
    ])
    assert.deepEqual(Outputs.VideoQueueUrl, {
      Value: { Ref: 'VideoQueue' },
      Export: { Name: { 'Fn::Sub': '${AWS::StackName}-VideoQueueUrl' } },
    })
    const policies = Object.values<{ Type: string }>(Resources).filter(
      ({ Type }) => Type === 'AWS::IAM::ManagedPolicy',
    )
    assert.equal(policies.length, 2 * 4)
  })

  test('does not repeat Queue in the ids of a queue whose key already ends with it', () => {
    const idsOf = (keys: readonly string[]): readonly string[] => {
      const queues = Object.fromEntries(keys.map((key) => [key, queue({ deadLetter: {} })]))
      const app = defineApp('a', { queues })
      const { text } = exportTemplate({
        app,
        stage: 'dev',
        format: 'cloudformation',
        syntax: 'json',
      })
      const { Resources } = JSON.parse(text) as { Resources: Record<string, { Type: string }> }
      return Object.keys(Resources).filter((id) => Resources[id]?.Type === 'AWS::SQS::Queue')
    }
    assert.deepEqual(idsOf(['ordersQueue']), ['OrdersDlq', 'OrdersQueue'])
    assert.deepEqual(idsOf(['orders-queue']), ['OrdersDlq', 'OrdersQueue'])
    assert.deepEqual(idsOf(['queue']), ['QueueDlq', 'Queue'])
    const both = ['OrdersDlq', 'OrdersQueue', 'OrdersDlq2', 'OrdersQueue2']
    assert.deepEqual(idsOf(['orders', 'orders_queue']), both)
  })

  test('quotes what other readers of YAML would take for a date', () => {
    const { text } = exportTemplate({ app: academy, stage: 'dev', format: 'sam' })
    assert.match(text, /^AWSTemplateFormatVersion: '2010-09-09'$/m)
    assert.match(text, /^ +Version: '2012-10-17'$/m)
    assert.match(text, /^Transform: AWS::Serverless-2016-10-31$/m)
  })
})
