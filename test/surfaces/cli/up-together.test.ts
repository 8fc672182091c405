/** `millrace up` with several templates and apps in one call. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { assertRefused, cliScene } from './cli-scene.ts'

const millrace = new URL('../../../src/index.ts', import.meta.url).href

const app = (queues: string, more = ''): string => `
import { alarm, defineApp, queue } from '${millrace}'
export const shop = defineApp('shop', { queues: { ${queues} }, ${more} })
`

const template = `service: shop
provider: { name: aws }
resources:
  Resources:
    Dlq: { Type: AWS::SQS::Queue, Properties: { QueueName: orders-dlq } }
    Orders:
      Type: AWS::SQS::Queue
      Properties:
        QueueName: orders
        VisibilityTimeout: 60
        RedrivePolicy: { deadLetterTargetArn: !GetAtt Dlq.Arn, maxReceiveCount: 3 }
    Watch:
      Type: AWS::CloudWatch::Alarm
      Properties:
        AlarmName: orders-deep
        Namespace: AWS/SQS
        MetricName: ApproximateNumberOfMessagesVisible
        Dimensions: [{ Name: QueueName, Value: orders }]
        Statistic: Maximum
        Period: 60
        EvaluationPeriods: 1
        Threshold: 100
        ComparisonOperator: GreaterThanThreshold
`

describe('an app that goes up', () => {
  test('has its alarms recorded in the words of CloudWatch', async () => {
    const { write, run, store } = await cliScene()
    const alarms =
      "alarms: [alarm.dead('*').above(0), alarm.oldestAge('orders').above(60, { period: '2m' }), alarm.errorRate('orders').above(0.5)]"
    const module = await write('app.mjs', app('orders: queue({ deadLetter: {} })', alarms))
    const { code, stdout, stderr } = await run('up', module, '--json')
    assert.equal(code, 0, stderr)
    const { stacks, problems } = JSON.parse(stdout)
    const names = ['shop-dev-orders-dlq-dead-letters', 'shop-dev-orders-oldest-age']
    assert.deepEqual(stacks[0].alarms, names)
    // The app itself watches what SQS has no metric for.
    assert.deepEqual(problems, [])
    const { backend } = await store()
    const record = await backend.stacks?.read({ stack: 'shop-dev' })
    const stack = JSON.parse(record?.document ?? '{}')
    const { at: _, ...first } = stack.alarms[0]
    assert.deepEqual(first, {
      logicalId: 'OrdersDlqDepthAlarm',
      name: 'shop-dev-orders-dlq-dead-letters',
      description: null,
      namespace: 'AWS/SQS',
      metric: 'ApproximateNumberOfMessagesVisible',
      queue: 'shop-dev-orders-dlq',
      statistic: 'Maximum',
      periodMs: 60_000,
      evaluationPeriods: 1,
      datapointsToAlarm: 1,
      threshold: 0,
      comparison: 'GreaterThanThreshold',
      treatMissingData: 'missing',
      severity: 'critical',
    })
    assert.equal(stack.alarms[1].periodMs, 120_000)
  })
})

describe('a template that imports', () => {
  const exporting = `Resources: { Dead: { Type: AWS::SQS::Queue, Properties: { QueueName: dead } } }
Outputs: { Arn: { Value: !GetAtt Dead.Arn, Export: { Name: dead-arn } } }
`
  const importing = `Resources:
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: orders
      RedrivePolicy: { deadLetterTargetArn: !ImportValue dead-arn, maxReceiveCount: 3 }
`

  test('gets what an earlier template of the call exports', async () => {
    const { write, read, store } = await cliScene()
    const one = await write('one/template.yaml', exporting)
    const other = await write('two/template.yaml', importing)
    await read('up', one, other)
    const { settings } = await (await store()).backend.readQueue({ queue: 'orders' })
    assert.deepEqual(settings.deadLetter, { queue: 'dead', maxReceives: 3 })
  })

  test('is refused with its place when nothing before it exports the value', async () => {
    const { write, run } = await cliScene()
    const one = await write('one/template.yaml', exporting)
    const other = await write('two/template.yaml', importing)
    assertRefused(await run('up', other, one), 1, /two.template\.yaml:6:\d+: error: .*dead-arn/)
  })
})

describe('an app beside a template of the same queues', () => {
  const orders = "orders: queue({ name: 'orders', visibilityTimeout: '60s', obeys: 'PAUSED'"
  const dlq = "dlq: queue({ name: 'orders-dlq' })"
  const deadLetter = "deadLetter: { queue: 'dlq', after: 3 }"
  const alarms = "alarms: [alarm.depth('orders').above(1), alarm.dead('orders').above(0)]"

  test('joins its stack, and adds what a template cannot say', async () => {
    const { write, read, store } = await cliScene()
    const file = await write('serverless.yml', template)
    const module = await write(
      'app.mjs',
      app(`${orders}, concurrency: 2, ${deadLetter} }), ${dlq}`, alarms),
    )
    const { stacks, problems } = await read('up', module, file)
    assert.deepEqual(problems, [])
    assert.deepEqual(
      stacks.map(({ name, source }: { name: string; source: string }) => [name, source]),
      [['shop-dev', file]],
    )
    // The template watches the depth of orders already.
    assert.deepEqual(stacks[0].alarms, ['orders-deep', 'orders-dlq-dead-letters'])
    const { backend } = await store()
    const { settings } = await backend.readQueue({ queue: 'orders' })
    assert.deepEqual(settings.obeys.queue, ['PAUSED'])
    assert.equal(settings.ceilings.running, 2)
    assert.equal(settings.visibilityMs, 60_000)
    await read('up', file)
    const again = await backend.readQueue({ queue: 'orders' })
    assert.deepEqual(again.settings, settings)
  })

  test('is told where the two disagree, and the template counts', async () => {
    const { write, read, store } = await cliScene()
    const file = await write('serverless.yml', template)
    const module = await write(
      'app.mjs',
      app(`${orders.replace('60s', '5m')}, ${deadLetter} }), ${dlq}`),
    )
    const { problems } = await read('up', file, module)
    assert.deepEqual(
      problems.map(({ message }: { message: string }) => message),
      ["The app has another value for visibilityMs of 'orders'; the template's is used."],
    )
    const { settings } = await (await store()).backend.readQueue({ queue: 'orders' })
    assert.equal(settings.visibilityMs, 60_000)
  })

  test('is a stack of its own when it has another queue, and refused under the same name', async () => {
    const { write, run } = await cliScene()
    const file = await write('serverless.yml', template)
    const module = await write('app.mjs', app(`${orders} }), mail: queue()`))
    const end = await run('up', file, module)
    assertRefused(end, 1, /Two stacks have the name 'shop-dev'.* all queues of the app/)
  })
})
