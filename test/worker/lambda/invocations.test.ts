import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { digestOfBody } from '../../../src/sqs/message-digest.ts'
import { bodies, handlers, type LambdaScene, openLambdaScene } from './lambda-scene.ts'

describe('a function that is fed from a queue', () => {
  test('is given the messages as records, and its success deletes them', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const sent = await scene.send('one', 'two')
    await scene.run(scene.set({}))
    const told = await scene.began()
    assert.deepEqual(bodies(told), ['one', 'two'])
    assert.deepEqual(
      told.event.Records.map(({ messageId }) => messageId),
      sent,
    )
    assert.equal((await scene.store.counts('work')).leased, 2)
    scene.order(told)
    const report = await scene.ended()
    assert.equal(report.status, 'succeeded')
    assert.equal(report.acknowledged, 2)
    assert.deepEqual(await scene.store.counts('work'), { ready: 0, leased: 0, delayed: 0 })
  })

  test('sees every field of a record as AWS writes it', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const [id] = await scene.send({
      body: 'grün',
      attributes: {
        kind: { type: 'String', value: 'a' },
        size: { type: 'Number.int', value: '7' },
        raw: { type: 'Binary', value: Uint8Array.of(1, 2, 255) },
      },
      systemAttributes: { AWSTraceHeader: 'Root=1-5759e988-bd862e3fe1be46a994272793' },
    })
    await scene.run(scene.set({}))
    const [record] = (await scene.began()).event.Records
    const lists = { stringListValues: [], binaryListValues: [] }
    const now = String(scene.ports.clock.now())
    assert.deepEqual(record, {
      messageId: id,
      receiptHandle: record?.receiptHandle,
      body: 'grün',
      attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: now,
        SenderId: '123456789012',
        ApproximateFirstReceiveTimestamp: now,
        AWSTraceHeader: 'Root=1-5759e988-bd862e3fe1be46a994272793',
      },
      messageAttributes: {
        kind: { stringValue: 'a', ...lists, dataType: 'String' },
        size: { stringValue: '7', ...lists, dataType: 'Number.int' },
        raw: { binaryValue: 'AQL/', ...lists, dataType: 'Binary' },
      },
      md5OfBody: digestOfBody('grün'),
      // Computed by the rules of the SQS developer guide, with Python.
      md5OfMessageAttributes: 'fdec968ef1fc5151d501fbfbbd3d3304',
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn:aws:sqs:eu-west-1:123456789012:work',
      awsRegion: 'eu-west-1',
    })
  })

  test('sees the group, the deduplication id and the sequence number of a FIFO queue', async () => {
    const scene = await openLambdaScene()
    await scene.queue({ type: 'fifo' }, 'work.fifo')
    await scene.store.send('work.fifo', { body: 'a', group: 'g-1', deduplicationId: 'd-1' })
    await scene.run(scene.set({}, { queue: 'work.fifo' }))
    const [record] = (await scene.began()).event.Records
    assert.equal(record?.attributes.MessageGroupId, 'g-1')
    assert.equal(record?.attributes.MessageDeduplicationId, 'd-1')
    assert.match(record?.attributes.SequenceNumber ?? '', /^\d{20}$/)
  })

  test('sees where a dead letter came from', async () => {
    const scene = await openLambdaScene()
    const dead = await scene.store.queueWithDeadLetters('orders', 1)
    await scene.store.send('orders', 'poison')
    await scene.store.receiveOne('orders', { visibilityMs: 0 })
    assert.deepEqual(await scene.store.receive('orders'), [])
    await scene.run(scene.set({}, { queue: dead }))
    const [record] = (await scene.began()).event.Records
    assert.equal(
      record?.attributes.DeadLetterQueueSourceArn,
      'arn:aws:sqs:eu-west-1:123456789012:orders',
    )
  })

  test('is told about itself in its context', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({ memoryMb: 256, timeoutMs: 10_000 }))
    const { context, remainingMs, requestId } = await scene.began()
    assert.deepEqual(context, {
      functionName: 'puppet',
      functionVersion: '$LATEST',
      invokedFunctionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:puppet',
      memoryLimitInMB: '256',
      awsRequestId: requestId,
      logGroupName: '/aws/lambda/puppet',
      logStreamName: context['logStreamName'],
    })
    assert.match(String(context['logStreamName']), /^2026\/01\/01\/\[\$LATEST\][0-9a-f]{32}$/)
    assert.ok(remainingMs > 0 && remainingMs <= 10_000, `${remainingMs} ms`)
  })
})

describe('the environment of a function', () => {
  async function seen(scene: LambdaScene): Promise<Readonly<Record<string, string | undefined>>> {
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({ environment: { TABLE: 'grades', AWS_REGION: 'us-west-9' } }))
    return (await scene.began()).environment
  }

  test('has its own variables and those of Lambda, which it cannot change', async () => {
    const scene = await openLambdaScene({ endpoint: 'http://127.0.0.1:4566' })
    const {
      _X_AMZN_TRACE_ID: trace,
      AWS_LAMBDA_LOG_STREAM_NAME: stream,
      ...rest
    } = await seen(scene)
    assert.deepEqual(rest, {
      PATH: '/bin',
      TABLE: 'grades',
      PUPPET_CHANNEL: scene.folder,
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:4566',
      AWS_REGION: 'eu-west-1',
      AWS_DEFAULT_REGION: 'eu-west-1',
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_LAMBDA_FUNCTION_NAME: 'puppet',
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      AWS_LAMBDA_LOG_GROUP_NAME: '/aws/lambda/puppet',
      LAMBDA_TASK_ROOT: handlers,
      _HANDLER: 'puppet.handler',
      TZ: ':UTC',
    })
    assert.match(trace ?? '', /^Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0$/)
    assert.match(stream ?? '', /\[\$LATEST\]/)
  })

  test('has of the machine only what programs need, and the credentials of AWS', async () => {
    const scene = await openLambdaScene({
      hostEnvironment: {
        PATH: '/bin',
        HOME: '/nowhere',
        STRIPE_SECRET: 'do not tell',
        AWS_ACCESS_KEY_ID: 'own',
        AWS_SECRET_ACCESS_KEY: 'key',
        AWS_SESSION_TOKEN: 'token',
      },
    })
    const environment = await seen(scene)
    assert.equal(environment['STRIPE_SECRET'], undefined)
    assert.deepEqual(
      ['HOME', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'].map(
        (name) => environment[name],
      ),
      ['/nowhere', 'own', 'key', 'token'],
    )
  })

  test('is kept warm between invocations, with a trace of its own for each', async () => {
    const scene = await openLambdaScene()
    const first = await scene.oncePuppet()
    assert.notEqual((await scene.ended()).initMs, null)
    await scene.send('two')
    const second = await scene.began(1)
    assert.equal(second.count, 2)
    assert.notEqual(second.environment['_X_AMZN_TRACE_ID'], first.environment['_X_AMZN_TRACE_ID'])
    scene.order(second)
    assert.equal((await scene.ended(1)).initMs, null)
  })

  test('is dropped after ten minutes without work', async () => {
    const scene = await openLambdaScene()
    await scene.oncePuppet()
    await scene.ports.clock.advance(599_000)
    await scene.send('two')
    const second = await scene.began(1)
    assert.equal(second.count, 2, 'it was still warm')
    scene.order(second)
    await scene.ended(1)
    await scene.ports.clock.advance(600_000)
    await scene.send('three')
    assert.equal((await scene.began(2)).count, 1)
  })
})
