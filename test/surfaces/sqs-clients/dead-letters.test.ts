/** Dead-letter queues: who may have which, and what goes there. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  assertRefused,
  attributesOf,
  clientKinds,
  type NewQueue,
  newFifoQueue,
  newQueue,
  newQueueOf,
  queueKinds,
  receive,
  receiveBodies,
  receiveOne,
  send,
  systemAttributes,
} from './queue-scene.ts'
import type { SqsClient } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-dead-letters')

const trace = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1'

const redrive = ({ arn }: Pick<NewQueue, 'arn'>, maxReceiveCount: number | string = 1) => ({
  RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount }),
})

const set = (client: SqsClient, { url }: NewQueue, attributes: Record<string, string>) =>
  client.call('SetQueueAttributes', { QueueUrl: url, Attributes: attributes })

describe.concurrent.each(clientKinds)('dead letters, with $name', (kind) => {
  const open = () => server.client(kind)

  test('the receive after the last one moves a message, which stays what it is', async () => {
    const client = open()
    const dead = await newQueue(client)
    const queue = await newQueue(client, { ...redrive(dead), VisibilityTimeout: '0' })
    const MessageAttributes = { MyAttribute: { DataType: 'String', StringValue: 'foobar' } }
    const MessageSystemAttributes = { AWSTraceHeader: { DataType: 'String', StringValue: trace } }
    const sent = [
      await send(client, queue, 'message-1', { MessageAttributes, MessageSystemAttributes }),
      await send(client, queue, 'message-2'),
    ].map(({ MessageId }) => MessageId)
    const asked = { ...systemAttributes(client), MessageAttributeNames: ['All'] }
    const received = await receive(client, queue, asked)
    const shown = received.map(({ MessageId, Attributes }) => [
      MessageId,
      Attributes?.ApproximateReceiveCount,
      Attributes?.DeadLetterQueueSourceArn,
    ])
    assert.deepEqual(shown, [
      [sent[0], '1', undefined],
      [sent[1], '1', undefined],
    ])
    assert.deepEqual(await receive(client, queue), [])

    const [first, second, ...others] = await receive(client, dead, asked)
    assert.deepEqual(others, [])
    const [before] = received
    assert.equal(first?.MessageId, sent[0])
    assert.deepEqual(first?.MessageAttributes, MessageAttributes)
    assert.equal(first?.MD5OfMessageAttributes, 'adb59cd4678ea5a855436b949cd07ab6')
    assert.deepEqual(first?.Attributes, {
      ...before?.Attributes,
      ApproximateReceiveCount: '2',
      ApproximateFirstReceiveTimestamp: first?.Attributes?.ApproximateFirstReceiveTimestamp,
      DeadLetterQueueSourceArn: queue.arn,
    })
    assert.equal(second?.MessageId, sent[1])
    assert.equal(second?.Attributes?.DeadLetterQueueSourceArn, queue.arn)
  })

  test('a dead-letter queue may have one of its own', async () => {
    const client = open()
    const last = await newQueue(client)
    const middle = await newQueue(client, { ...redrive(last, 2), VisibilityTimeout: '0' })
    const first = await newQueue(client, { ...redrive(middle), VisibilityTimeout: '0' })
    const { MessageId } = await send(client, first, 'poison')
    for (const queue of [first, middle]) {
      assert.deepEqual(await receiveBodies(client, queue), ['poison'])
      assert.deepEqual(await receiveBodies(client, queue), [])
    }
    const message = await receiveOne(client, last, systemAttributes(client))
    assert.equal(message.MessageId, MessageId)
    assert.equal(message.Attributes?.ApproximateReceiveCount, '3')
    assert.equal(message.Attributes?.DeadLetterQueueSourceArn, middle.arn)
  })

  test('a FIFO message gives way to the next of its group', async () => {
    const client = open()
    const dead = await newFifoQueue(client)
    const queue = await newFifoQueue(client, redrive(dead, 2))
    const group = { MessageGroupId: '1' }
    const { MessageId } = await send(client, queue, 'poison', group)
    await send(client, queue, 'next', group)
    const asked = { ...systemAttributes(client), MaxNumberOfMessages: 1, VisibilityTimeout: 0 }
    let sentAt = ''
    for (const _time of [1, 2]) {
      const { Body, Attributes } = await receiveOne(client, queue, asked)
      assert.equal(Body, 'poison')
      sentAt = Attributes?.SentTimestamp ?? ''
    }
    assert.deepEqual(await receiveBodies(client, queue, { WaitTimeSeconds: 20 }), ['next'])
    const message = await receiveOne(client, dead, systemAttributes(client))
    assert.equal(message.MessageId, MessageId)
    assert.equal(message.Attributes?.MessageGroupId, '1')
    assert.equal(message.Attributes?.DeadLetterQueueSourceArn, queue.arn)
    assert.equal(message.Attributes?.MessageDeduplicationId, MessageId)
    // Unlike on standard queues, its retention begins anew.
    assert.ok(Number(message.Attributes?.SentTimestamp) > Number(sentAt))
  })

  test('the queues of a dead-letter queue are listed', async () => {
    const client = open()
    for (const queueKind of queueKinds) {
      const dead = await newQueueOf(queueKind, client)
      const created = [
        await newQueueOf(queueKind, client, redrive(dead)),
        await newQueueOf(queueKind, client, redrive(dead)),
      ]
      const sources = created.map(({ url }) => url).toSorted()
      const listed = (more: object = {}) =>
        client.call('ListDeadLetterSourceQueues', { QueueUrl: dead.url, ...more })
      const { queueUrls, ...rest } = await listed()
      assert.deepEqual(queueUrls, sources)
      assert.deepEqual(rest, {})
      const { queueUrls: page, NextToken } = await listed({ MaxResults: 1 })
      assert.deepEqual(page, sources.slice(0, 1))
      assert.deepEqual((await listed({ MaxResults: 1, NextToken })).queueUrls, sources.slice(1))
    }
  })

  test('a queue that is nobody’s dead-letter queue lists none', async () => {
    const client = open()
    const { url: QueueUrl } = await newQueue(client)
    const { queueUrls = [] } = await client.call('ListDeadLetterSourceQueues', { QueueUrl })
    assert.deepEqual(queueUrls, [])
  })

  test('a redrive policy is kept as it was written, and removed by an empty one', async () => {
    const client = open()
    const dead = await newQueue(client)
    const queue = await newQueue(client, redrive(dead, 10))
    const shown = await attributesOf(client, queue, ['RedrivePolicy'])
    assert.deepEqual(JSON.parse(shown['RedrivePolicy'] ?? ''), {
      deadLetterTargetArn: dead.arn,
      maxReceiveCount: 10,
    })
    await set(client, queue, redrive(dead, '42'))
    const changed = await attributesOf(client, queue)
    assert.match(changed['RedrivePolicy'] ?? '', /42/)
    await set(client, queue, { RedrivePolicy: '' })
    assert.ok(!('RedrivePolicy' in (await attributesOf(client, queue))))
    await set(client, queue, { RedrivePolicy: '' })
  })

  test('a redrive policy is refused unless it is whole and its target is there', async () => {
    const client = open()
    const queue = await newQueue(client)
    const dead = await newQueue(client)
    const fifo = await newFifoQueue(client)
    const target = dead.arn
    const policies = [
      { deadLetterTargetArn: target },
      { maxReceiveCount: '42' },
      { deadLetterTargetArn: target, maxReceiveCount: 'invalid' },
      { deadLetterTargetArn: target, maxReceiveCount: 0 },
      { deadLetterTargetArn: target, maxReceiveCount: 1001 },
      { deadLetterTargetArn: `${target}-missing`, maxReceiveCount: 3 },
      { deadLetterTargetArn: fifo.arn, maxReceiveCount: 3 },
    ].map((policy) => JSON.stringify(policy))
    for (const RedrivePolicy of policies) {
      const refused = { code: 'InvalidParameterValue' }
      await assertRefused(set(client, queue, { RedrivePolicy }), refused)
      await assertRefused(newQueue(client, { RedrivePolicy }), refused)
    }
    for (const RedrivePolicy of ['not JSON', '[]']) {
      await assertRefused(set(client, queue, { RedrivePolicy }), { code: 'InvalidAttributeValue' })
    }
    await assertRefused(set(client, fifo, redrive(dead)), { code: 'InvalidParameterValue' })
  })

  test('a target that is no ARN is refused before anybody looks for it', async () => {
    const RedrivePolicy = '{"deadLetterTargetArn": "dummy", "maxReceiveCount": 42}'
    await assertRefused(newQueue(open(), { RedrivePolicy }), {
      code: 'InvalidParameterValue',
      message:
        'Value {"deadLetterTargetArn": "dummy", "maxReceiveCount": 42} for parameter RedrivePolicy is invalid. Reason: Invalid value for deadLetterTargetArn.',
    })
  })

  test('a dead-letter queue can choose its sources', async () => {
    const client = open()
    const [one, other] = [await newQueue(client), await newQueue(client)]
    const allow = (policy: object) => ({ RedriveAllowPolicy: JSON.stringify(policy) })
    const none = await newQueue(client, allow({ redrivePermission: 'denyAll' }))
    const some = await newQueue(
      client,
      allow({ redrivePermission: 'byQueue', sourceQueueArns: [one.arn] }),
    )
    const all = await newQueue(client, allow({ redrivePermission: 'allowAll' }))
    const refused = { code: 'InvalidParameterValue' }
    await assertRefused(set(client, one, redrive(none)), refused)
    await assertRefused(set(client, other, redrive(some)), refused)
    await set(client, one, redrive(some))
    await set(client, other, redrive(all))
  })

  test('a choice of sources is refused unless it is whole', async () => {
    const client = open()
    const queue = await newQueue(client)
    const arns = (count: number) => Array.from({ length: count }, (_, n) => `${queue.arn}-${n}`)
    const unreadable = ['not JSON', '{}', JSON.stringify({ redrivePermission: 'sometimes' })]
    for (const RedriveAllowPolicy of unreadable) {
      await assertRefused(set(client, queue, { RedriveAllowPolicy }), {
        code: 'InvalidAttributeValue',
      })
    }
    const incomplete = [
      { redrivePermission: 'byQueue' },
      { redrivePermission: 'byQueue', sourceQueueArns: [] },
      { redrivePermission: 'byQueue', sourceQueueArns: arns(11) },
      { redrivePermission: 'allowAll', sourceQueueArns: arns(1) },
    ]
    for (const policy of incomplete) {
      const RedriveAllowPolicy = JSON.stringify(policy)
      await assertRefused(set(client, queue, { RedriveAllowPolicy }), {
        code: 'InvalidParameterValue',
      })
    }
  })
})
