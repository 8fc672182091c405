/** One template of each kind, as people write them, read as a whole. */
import assert from 'node:assert/strict'
import { relative } from 'node:path'
import { describe, test } from 'vitest'
import type { ReadTemplate } from '../../src/templates/stack.ts'
import { fixture, readFixture, readText, stackOf } from './reading.ts'

const days = 86_400_000

function messages({ problems }: ReadTemplate): readonly string[] {
  return problems.map(({ severity, at, message }) => `${severity} ${at.line}: ${message}`)
}

describe('a serverless.yml', () => {
  test('gives its queues, dead letters first', async () => {
    const { queues, name } = stackOf(await readFixture('tutoring/serverless.yml'))
    assert.equal(name, 'tutoring-backend-dev')
    assert.deepEqual(
      queues.map((queue) => [queue.name, queue.settings]),
      [
        [
          'tutoring-backend-dev-attempt-stream.fifo',
          {
            type: 'fifo',
            visibilityMs: 60_000,
            retentionMs: 1 * days,
            deduplicateByContent: true,
          },
        ],
        ['tutoring-backend-dev-classify-dlq', { type: 'standard', retentionMs: 14 * days }],
        [
          'tutoring-backend-dev-classify-queue',
          {
            type: 'standard',
            visibilityMs: 360_000,
            retentionMs: 1 * days,
            deadLetter: { queue: 'tutoring-backend-dev-classify-dlq', maxReceives: 3 },
          },
        ],
      ],
    )
  })

  test('gives functions with the defaults of the framework and of the provider', async () => {
    const { functions } = stackOf(await readFixture('tutoring/serverless.yml', { stage: 'prod' }))
    const [api, telemetry, classifier] = functions
    assert.equal(api?.name, 'tutoring-backend-prod-api')
    assert.equal(api?.timeoutMs, 6_000)
    assert.equal(api?.memoryMb, 512)
    assert.equal(telemetry?.handler, 'src/workers/telemetry.handler')
    assert.equal(telemetry?.folder, fixture('tutoring'))
    assert.equal(telemetry?.runtime, 'nodejs24.x')
    assert.equal(classifier?.memoryMb, 1_024)
    assert.equal(classifier?.reservedConcurrency, 4)
    assert.equal(classifier?.environment['STAGE'], 'overridden')
    assert.equal(
      classifier?.environment['ATTEMPT_STREAM_URL'],
      'http://127.0.0.1:4566/000000000000/tutoring-backend-prod-attempt-stream.fifo',
    )
  })

  test('gives the events of queues, and leaves others alone', async () => {
    const { eventSources } = stackOf(
      await readFixture('tutoring/serverless.yml', { stage: 'prod' }),
    )
    assert.equal(eventSources.length, 2)
    const { at, ...classify } = eventSources[1] ?? {}
    assert.deepEqual(classify, {
      logicalId: 'ClassifierWorkerEventSourceMappingSQSClassifyQueue',
      queue: 'tutoring-backend-prod-classify-queue',
      function: 'tutoring-backend-prod-classifierWorker',
      batchSize: 50,
      batchingWindowMs: 60_000,
      maximumConcurrency: 2,
      reportsBatchItemFailures: true,
      filters: [{ body: { kind: ['LLM'] } }],
      enabled: true,
    })
    assert.equal(at?.line, 61)
  })

  test('warns of a value that only AWS has, unless the environment has it', async () => {
    assert.deepEqual(messages(await readFixture('tutoring/serverless.yml')), [
      'warning 25: The value of DATABASE_URL is only known on AWS: ${ssm:/tutoring/dev/database-url}. ' +
        'Set DATABASE_URL in the environment.',
    ])
    const reading = await readFixture('tutoring/serverless.yml', {
      environment: { DATABASE_URL: 'postgres://localhost/tutoring' },
    })
    assert.deepEqual(messages(reading), [])
    const [, worker] = stackOf(reading).functions
    assert.equal(worker?.environment['DATABASE_URL'], 'postgres://localhost/tutoring')
  })

  test('may be split into files, which are all named for those who watch', async () => {
    const reading = await readFixture('split/serverless.yml', {
      stage: 'prod',
      environment: { SHOP_TOKEN: 'from the environment' },
    })
    const { queues, functions, eventSources } = stackOf(reading)
    assert.deepEqual(
      queues.map(({ name, settings }) => [name, settings.visibilityMs]),
      [
        ['shop-prod-orders-dead', undefined],
        ['shop-prod-orders', 900_000],
        ['shop-prod-returns', 900_000],
      ],
    )
    assert.deepEqual(functions[0]?.environment, {
      DOMAIN: 'shop.example',
      TOKEN: 'from the environment',
      ORDERS_URL: 'http://127.0.0.1:4566/000000000000/shop-prod-orders',
    })
    assert.deepEqual(
      eventSources.map(({ queue, maximumConcurrency }) => [queue, maximumConcurrency]),
      [
        ['shop-prod-orders', 20],
        ['mails-of-another-team', null],
      ],
    )
    assert.deepEqual(reading.files.map((file) => relative(fixture('split'), file)).toSorted(), [
      'config/environment.json',
      'config/functions.yml',
      'config/prod.yml',
      'resources/orders.yml',
      'serverless.yml',
    ])
    assert.deepEqual(messages(reading), [
      "warning 30: The template does not create the queue 'mails-of-another-team'. It must already exist.",
    ])
  })

  test('keeps the policy of a queue, and its tags', async () => {
    const { queues } = stackOf(await readFixture('split/serverless.yml'))
    const orders = queues.find(({ logicalId }) => logicalId === 'Orders')
    const policy = JSON.parse(orders?.settings.annotations?.['Policy'] ?? '{}')
    assert.equal(policy.Statement[0].Resource, 'arn:aws:sqs:us-east-1:000000000000:shop-dev-orders')
    assert.deepEqual(orders?.tags, { team: 'shop' })
  })
})

describe('a SAM template', () => {
  test('gives queues, the function with its globals, and the event', async () => {
    const { queues, functions, eventSources } = stackOf(await readFixture('replies/template.yaml'))
    assert.deepEqual(
      queues.map(({ name }) => name),
      [
        'ai-multi-comms-trigger-delay-dlq-dev',
        'ai-multi-comms-trigger-delay-queue-dev',
        'ai-multi-comms-human-handoff-queue-dev',
      ],
    )
    const [messaging] = functions
    assert.equal(messaging?.folder, fixture('replies/src'))
    assert.equal(messaging?.timeoutMs, 900_000)
    assert.equal(messaging?.memoryMb, 256)
    assert.equal(messaging?.environment['LOG_LEVEL'], 'debug')
    assert.equal(
      messaging?.environment['TRIGGER_QUEUE_URL'],
      'http://127.0.0.1:4566/000000000000/ai-multi-comms-trigger-delay-queue-dev',
    )
    const [trigger] = eventSources
    assert.equal(trigger?.function, messaging?.name)
    assert.equal(trigger?.queue, 'ai-multi-comms-trigger-delay-queue-dev')
    assert.deepEqual([trigger?.batchSize, trigger?.maximumConcurrency], [1, 2])
    assert.equal(trigger?.reportsBatchItemFailures, true)
  })

  test('follows its parameters', async () => {
    const parameters = { EnvironmentName: 'prod', ProjectPrefix: 'replies' }
    const { queues, eventSources } = stackOf(
      await readFixture('replies/template.yaml', { parameters }),
    )
    assert.ok(queues.some(({ name }) => name === 'replies-audit-prod'))
    assert.equal(eventSources[0]?.maximumConcurrency, 20)
  })

  test('reads an alarm with a comparison that is cut short, and says so', async () => {
    const reading = await readFixture('replies/template.yaml')
    const [alarm] = stackOf(reading).alarms
    const { logicalId, at, ...rest } = alarm ?? {}
    assert.deepEqual(rest, {
      name: 'ai-multi-comms-TriggerDelayDLQ-NotEmpty-dev',
      description: 'Somebody should look at the triggers that failed',
      namespace: 'AWS/SQS',
      metric: 'ApproximateNumberOfMessagesVisible',
      queue: 'ai-multi-comms-trigger-delay-dlq-dev',
      statistic: 'Sum',
      periodMs: 60_000,
      evaluationPeriods: 1,
      datapointsToAlarm: 1,
      threshold: 0,
      comparison: 'GreaterThanThreshold',
      treatMissingData: 'notBreaching',
    })
    assert.ok(
      messages(reading).includes(
        "warning 118: 'GreaterThan' is not a value of CloudFormation; GreaterThanThreshold is used.",
      ),
    )
  })
})

describe('the output of the CDK', () => {
  test('is read as a whole folder, with imports between its stacks', async () => {
    const reading = await readFixture('orders-cdk/cdk.out')
    const { name, queues, functions, eventSources } = stackOf(reading)
    assert.equal(name, 'OrdersStack + shop-mail')
    assert.equal(queues.length, 3)
    const [worker] = functions
    assert.equal(functions.length, 1)
    assert.match(worker?.folder ?? '', /cdk\.out\/asset\.[0-9a-f]{64}$/)
    assert.equal(eventSources[0]?.function, worker?.name)
    assert.deepEqual(eventSources[0]?.filters, [{ body: { total: [{ numeric: ['>', 0] }] } }])
    assert.deepEqual(messages(reading), [
      'warning 6: The code is inline in the template, so the function does not run here. ' +
        'To run it, move the code into a file.',
    ])
  })

  test.each(['orders-cdk', 'orders-cdk/cdk.out/manifest.json'])('is found at %s', async (path) => {
    assert.equal(stackOf(await readFixture(path)).queues.length, 3)
  })

  test('is read as one template', async () => {
    const { name, queues } = stackOf(
      await readFixture('orders-cdk/cdk.out/OrdersStack.template.json'),
    )
    assert.equal(name, 'OrdersStack')
    assert.match(queues[1]?.name ?? '', /^OrdersStack-Orders4F2E8D11-[A-Z2-7]{12}$/)
  })
})

describe('a plain CloudFormation template', () => {
  test('is read with policies as text, lists and generated names', async () => {
    const reading = await readFixture('plain/orders.yaml')
    const [dead, orders, ledger] = stackOf(reading).queues
    assert.equal(dead?.name, 'orders-south-dev-dead')
    assert.deepEqual(dead?.settings.deadLetterSources, [orders?.name])
    assert.deepEqual(orders?.settings.deadLetter, { queue: dead?.name, maxReceives: 4 })
    assert.equal(orders?.settings.visibilityMs, 45_000)
    assert.equal(ledger?.settings.deduplicationScope, 'group')
    assert.deepEqual(messages(reading), [])
  })

  test('is read as JSON, with tabs', async () => {
    const json =
      '{\n\t"Resources": {\n\t\t"Q": { "Type": "AWS::SQS::Queue",\n\t"Properties": { "QueueName": "q" } } }\n}'
    assert.equal(stackOf(await readText(json)).queues[0]?.name, 'q')
  })

  test('with a function that names an alias as its target runs the function', async () => {
    const { eventSources, functions } = stackOf(
      await readText(`
Resources:
  Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: q } }
  F: { Type: 'AWS::Lambda::Function', Properties: { FunctionName: f, Handler: a.b, Code: . } }
  Live:
    Type: AWS::Lambda::Alias
    Properties: { FunctionName: !Ref F, FunctionVersion: '1', Name: live }
  Source:
    Type: AWS::Lambda::EventSourceMapping
    Properties: { EventSourceArn: !GetAtt Q.Arn, FunctionName: !Ref Live }
`),
    )
    assert.equal(functions[0]?.timeoutMs, 3_000)
    assert.equal(functions[0]?.memoryMb, 128)
    assert.equal(eventSources[0]?.function, 'f')
    assert.equal(eventSources[0]?.batchSize, 10)
  })
})

describe('a value that only AWS knows', () => {
  const withVariable = (head: string, value: string): string => `
${head}
Resources:
  Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: q } }
  F:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: f
      Handler: a.b
      CodeUri: .
      Environment: { Variables: { V: ${value} } }
      Events: { E: { Type: SQS, Properties: { Queue: !GetAtt Q.Arn } } }
`
  test.each([
    ['!Sub "https://${ServerlessRestApi}.example"', 'https://{{ServerlessRestApi}}.example'],
    ['!GetAtt FRole.Arn', '{{FRole}}'],
    ["'{{resolve:ssm:/a/b}}'", '{{resolve:ssm:/a/b}}'],
    ['!Select [0, !GetAZs ""]', '{{Fn::GetAZs}}'],
    ['!Ref Table', '{{Table}}'],
  ])('is a warning in the environment of a function: %s', async (value, text) => {
    const table = "Parameters: { Table: { Type: 'AWS::SSM::Parameter::Value<String>' } }"
    const { stack, complaints } = await readText(withVariable(table, value))
    assert.equal(stack?.functions[0]?.environment['V'], text)
    assert.equal(complaints.length, 1)
    assert.match(complaints[0] ?? '', /^warning .* The value of V is only known on AWS: /)
  })

  test('comes from the environment when that has a variable of the name', async () => {
    const head = 'Parameters: { Token: { Type: String, NoEcho: true } }'
    const text = withVariable(head, '!Ref Token')
    const { complaints } = await readText(text)
    assert.match(
      complaints[0] ?? '',
      /^error template\.yaml:11:43 The parameter 'Token' has no value/,
    )
    const { stack } = await readText(text, { environment: { V: 'given' } })
    assert.equal(stack?.functions[0]?.environment['V'], 'given')
  })
})

describe('a function that SAM bundles', () => {
  test('runs from where its entry point is', async () => {
    const { functions } = stackOf(
      await readText(`
Transform: AWS::Serverless-2016-10-31
Resources:
  F:
    Type: AWS::Serverless::Function
    Metadata:
      BuildMethod: esbuild
      BuildProperties: { EntryPoints: [src/handlers/pay.ts] }
    Properties: { Handler: pay.handler, CodeUri: code }
  G:
    Type: AWS::Serverless::Function
    Metadata: { BuildMethod: esbuild, BuildProperties: { EntryPoints: [app.ts] } }
    Properties: { Handler: app.handler, CodeUri: code }
`),
    )
    assert.deepEqual(
      functions.map(({ folder }) => folder.replace(/^.*?\/code/, 'code')),
      ['code/src/handlers', 'code'],
    )
  })
})
