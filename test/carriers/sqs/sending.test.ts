/** Sending to SQS: batches, what travels with a message, and what is refused. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'vitest'
import type {
  CarrierLabels,
  CarrierMessage,
  CarrierSent,
} from '../../../src/backends/carriers/carrier.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import {
  bodies,
  carrierScene,
  messageOf,
  newFifoQueue,
  newQueue,
  receiveAll,
  receiveFrom,
  receiveOne,
  sendBodies,
  until,
} from './carrier-scene.ts'
import { sqsServers } from './sqs-servers.ts'

const labels: CarrierLabels = {
  id: 'message-1',
  isTracked: true,
  job: { type: 'resize', attemptsMade: 2, maxAttempts: 5 },
  details: '{"a":"\uFFFE \\ ü"}',
  deadLetterOrigin: { source: 'orders', at: 1_700_000_000_000, reason: 'it failed' },
  systemAttributes: { tenant: 'one' },
}

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

function attributesNamed(count: number): CarrierMessage['attributes'] {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`name${index}`, { type: 'String', value: 'x' }]),
  )
}

function refusalOf(sent: CarrierSent | undefined): MillraceError {
  assert.ok(sent?.status === 'refused')
  return sent.error
}

describe.each(sqsServers)('sending to $name', (kind) => {
  const scene = carrierScene(kind)

  test('carries labels, attributes and system attributes', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    const message = messageOf('body', {
      labels,
      attributes: {
        text: { type: 'String.kind', value: 'wörd' },
        number: { type: 'Number', value: '1.5' },
        bytes: { type: 'Binary', value: Uint8Array.of(1, 2, 255) },
      },
      systemAttributes: { traceparent, SenderId: 'me' },
    })
    const [sent] = await carrier.send({ queue, messages: [message] })
    const delivery = await receiveOne(carrier, queue)
    const { handle, sentAt, firstReceivedAt, ...others } = delivery
    assert.ok(handle.length > 0 && sentAt > 0 && firstReceivedAt >= sentAt)
    assert.deepEqual(others, {
      id: sent?.status === 'created' ? sent.id : undefined,
      labels,
      body: 'body',
      attributes: message.attributes,
      systemAttributes: message.systemAttributes,
      group: null,
      deduplicationId: null,
      receiveCount: 1,
      jobType: null,
    })
  })

  test('adds nothing to a message about which nothing is said', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    await sendBodies(carrier, queue, ['plain'])
    const entries = scene.watch.calls.find(({ action }) => action === 'SendMessageBatch')?.input
    assert.deepEqual(entries?.['Entries'], [{ Id: '0', MessageBody: 'plain', DelaySeconds: 0 }])
    const { labels: none, attributes, systemAttributes } = await receiveOne(carrier, queue)
    assert.deepEqual([none, attributes, systemAttributes], [null, {}, {}])
  })

  test('passes the header of X-Ray as it is', async ({ skip }) => {
    skip(kind.lacks.traceHeaders !== undefined, kind.lacks.traceHeaders)
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    const AWSTraceHeader = 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1'
    await carrier.send({
      queue,
      messages: [messageOf('x', { systemAttributes: { AWSTraceHeader } })],
    })
    assert.deepEqual((await receiveOne(carrier, queue)).systemAttributes, { AWSTraceHeader })
  })

  test('leaves an attribute of another program that only has the name of the labels', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    const client = scene.foreign()
    const attribute = { DataType: 'String', StringValue: '{"id":1}' }
    await client.sendMessage({
      QueueUrl: (await client.getQueueUrl({ QueueName: queue })).QueueUrl,
      MessageBody: 'foreign',
      MessageAttributes: { Millrace: attribute },
    })
    const delivery = await receiveOne(carrier, queue)
    assert.equal(delivery.labels, null)
    assert.deepEqual(delivery.attributes, { Millrace: { type: 'String', value: '{"id":1}' } })
  })

  test('reads the job type of another program', async ({ skip }) => {
    skip(kind.lacks.plainJobs !== undefined, kind.lacks.plainJobs)
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    const client = scene.foreign()
    await client.sendMessage({
      QueueUrl: (await client.getQueueUrl({ QueueName: queue })).QueueUrl,
      MessageBody: 'foreign',
      MessageAttributes: { 'millrace.jobType': { DataType: 'String', StringValue: 'resize' } },
    })
    const delivery = await receiveOne(carrier, queue)
    assert.equal(delivery.jobType, 'resize')
    assert.deepEqual(delivery.attributes, {})
  })

  test('shares calls of ten entries between all that is sent in one turn', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    await Promise.all(bodies(25).map((body) => sendBodies(carrier, queue, [body])))
    const sizes = scene.watch.entriesOf('SendMessageBatch')
    assert.deepEqual(sizes.toSorted(), [10, 10, 5])
    const received = await receiveAll(carrier, queue, 25)
    assert.deepEqual(received.map(({ body }) => body).toSorted(), bodies(25).toSorted())
  })

  test('keeps a call within the size that SQS takes', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    const large = 'a'.repeat(400_000)
    await sendBodies(carrier, queue, [large, large, large])
    assert.deepEqual(scene.watch.entriesOf('SendMessageBatch').toSorted(), [1, 2])
  })

  test('refuses what SQS cannot carry, and sends the others', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    const sent = await carrier.send({
      queue,
      messages: [
        messageOf('ten', { labels, attributes: attributesNamed(10) }),
        messageOf('nine', { labels, attributes: attributesNamed(9) }),
        messageOf('a'.repeat(1_048_577)),
        messageOf('late', { delayMs: 901_000 }),
        messageOf('ten', { attributes: attributesNamed(10) }),
      ],
    })
    assert.deepEqual(
      sent.map((one) => (one.status === 'refused' ? one.error.code : one.status)),
      ['invalid_message', 'created', 'message_too_large', 'invalid_message', 'created'],
    )
    assert.equal(
      refusalOf(sent[0]).message,
      'attributes: got 10 attributes, expected at most 9 with other names, because Millrace needs one of the 10 of SQS',
    )
    assert.equal((await receiveAll(carrier, queue, 2)).length, 2)
  })

  test('does not fail other messages of a call with one that SQS refuses', async () => {
    const carrier = await scene.open()
    const queue = await newFifoQueue(carrier)
    const inGroup = (group: string): CarrierMessage =>
      messageOf(group, { group, deduplicationId: group })
    // SQS refuses the whole call for a message without a group.
    const sent = await carrier.send({
      queue,
      messages: [inGroup('a'), messageOf('none', { deduplicationId: 'none' }), inGroup('b')],
    })
    assert.deepEqual(
      sent.map(({ status }) => status),
      ['created', 'refused', 'created'],
    )
    assert.equal(refusalOf(sent[1]).code, 'invalid_message')
    assert.doesNotMatch(refusalOf(sent[1]).message, /none/)
  })

  test('delays a message', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await carrier.send({
      queue,
      messages: [messageOf('later', { delayMs: 900_000 }), messageOf('now')],
    })
    assert.equal((await receiveOne(carrier, queue)).body, 'now')
    await until(async () => (await carrier.levels({ queue })).delayed === 1)
  })

  test('keeps the order of a group, and the ids of FIFO queues', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newFifoQueue(carrier)
    const sending = bodies(25).map((body, index) =>
      carrier.send({
        queue,
        messages: [messageOf(body, { group: 'group', deduplicationId: `id-${index}` })],
      }),
    )
    const ids = (await Promise.all(sending)).flat().map((one) => one.status === 'created' && one.id)
    const received: string[] = []
    while (received.length < 25) {
      const some = await receiveFrom(carrier, queue)
      for (const { body, group, deduplicationId, id } of some) {
        assert.equal(group, 'group')
        assert.equal(deduplicationId, `id-${received.length}`)
        assert.equal(id, ids[received.length])
        received.push(body)
      }
      await carrier.remove({ queue, messages: some })
    }
    assert.deepEqual(received, bodies(25))
  })

  test('is deduplicated by SQS', async () => {
    const carrier = await scene.open()
    const queue = await newFifoQueue(carrier)
    const message = messageOf('once', { group: 'group', deduplicationId: 'same' })
    const [first] = await carrier.send({ queue, messages: [message] })
    const [second] = await carrier.send({ queue, messages: [message] })
    assert.deepEqual(first, second)
    assert.equal((await receiveFrom(carrier, queue)).length, 1)
  })

  test('passes the group of a standard queue, which is a tenant', async ({ skip }) => {
    skip(kind.lacks.tenants !== undefined, kind.lacks.tenants)
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await carrier.send({ queue, messages: [messageOf('x', { group: 'tenant' })] })
    assert.equal((await receiveOne(carrier, queue)).group, 'tenant')
  })

  test('to a queue that does not exist rejects', async () => {
    const carrier = await scene.open()
    const sending = carrier.send({ queue: 'missing', messages: [messageOf('secret')] })
    await assert.rejects(sending, {
      code: 'queue_not_found',
      message: "SQS has no queue 'missing' that these credentials may see.",
    })
  })
})

describe('entries that SQS could not take', () => {
  const [kind] = sqsServers
  assert.ok(kind !== undefined)
  const scene = carrierScene(kind)

  test('are tried again', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    let tries = 0
    scene.watch.before = async ({ action }) => {
      if (action !== 'SendMessageBatch' || tries++ > 0) return undefined
      const failed = { Id: '1', Code: 'InternalError', SenderFault: false }
      return {
        Successful: [{ Id: '0', MessageId: 'first', MD5OfMessageBody: md5Of('0') }],
        Failed: [failed],
      }
    }
    await sendBodies(carrier, queue, ['0', '1'])
    assert.deepEqual(scene.watch.entriesOf('SendMessageBatch'), [2, 1])
    assert.equal((await receiveOne(carrier, queue)).body, '1')
  })

  test('are refused after three tries, and may be sent again', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    scene.watch.before = async ({ action }) =>
      action === 'SendMessageBatch'
        ? { Failed: [{ Id: '0', Code: 'InternalError', SenderFault: false }] }
        : undefined
    const [sent] = await carrier.send({ queue, messages: [messageOf('0')] })
    const error = refusalOf(sent)
    assert.ok(error instanceof MillraceError && error.retryable)
    assert.equal(error.code, 'carrier_unreachable')
    assert.deepEqual(scene.watch.entriesOf('SendMessageBatch'), [1, 1, 1])
  })

  test('hold back later messages of their group in the same sending', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newFifoQueue(carrier)
    scene.watch.reset()
    const messages = bodies(21).map((body, index) =>
      messageOf(body, { group: index % 2 === 0 ? 'even' : 'odd', deduplicationId: body }),
    )
    let calls = 0
    scene.watch.before = async ({ action, input }) => {
      if (action !== 'SendMessageBatch' || calls++ > 0) return undefined
      const entries = input['Entries'] as readonly SentJson[]
      const even = entries.filter(({ MessageGroupId: group }) => group === 'even')
      const failed = even.map(({ Id }) => ({ Id, Code: 'InternalError', SenderFault: false }))
      const odd = entries.filter((one) => !even.includes(one))
      const sent = odd.map(({ Id, MessageBody: body }) => ({
        Id,
        MessageId: Id,
        MD5OfMessageBody: md5Of(body),
      }))
      return { Failed: failed, Successful: sent }
    }
    const sent = await carrier.send({ queue, messages })
    assert.deepEqual(
      sent.map(({ status }) => status),
      messages.map((_, index) => (index % 2 === 0 ? 'refused' : 'created')),
    )
    assert.deepEqual(scene.watch.entriesOf('SendMessageBatch'), [10, 5])
  })
})

interface SentJson {
  readonly Id: string
  readonly MessageBody: string
  readonly MessageGroupId: string
}

/** The SDK checks it. */
function md5Of(text: string): string {
  return createHash('md5').update(text).digest('hex')
}
