/** ReceiveMessage: what is shown of a message, how long a receive waits, and what it may ask for. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { inFlightMax } from '../../../src/core/limits.ts'
import { receiveMessage } from '../../../src/surfaces/sqs-protocol/actions/receive-message.ts'
import {
  type Fields,
  minute,
  openScene,
  refusal,
  second,
  type WireMessage,
} from './action-scene.ts'

const text = (value: string) => ({ DataType: 'String', StringValue: value })

describe('what is shown of a message', () => {
  test('nothing but the message, unless more is asked for', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const { MessageId } = await scene.send(queue, 'msg', {
      MessageAttributes: { Foo: text('Bar') },
    })
    const message = await scene.receiveOne(queue)
    assert.deepEqual(message, {
      MessageId,
      ReceiptHandle: message.ReceiptHandle,
      MD5OfBody: '6e2baaf3b97dbeef01c0043275f9a0e7',
      Body: 'msg',
    })
  })

  test.each(['AttributeNames', 'MessageSystemAttributeNames'])(
    'system attributes, asked for by %s',
    async (parameter) => {
      const scene = await openScene()
      const queue = await scene.queue('q', { visibilityMs: 0 })
      const sentAt = scene.clock.now()
      await scene.send(queue, 'msg')
      await scene.clock.advance(second)
      const receivedAt = scene.clock.now()
      await scene.receiveOne(queue)
      await scene.clock.advance(second)
      const { Attributes } = await scene.receiveOne(queue, { [parameter]: ['All'] })
      assert.deepEqual(Attributes, {
        SenderId: '000000000000',
        SentTimestamp: String(sentAt),
        ApproximateReceiveCount: '2',
        ApproximateFirstReceiveTimestamp: String(receivedAt),
      })
      const some = { [parameter]: ['SenderId', 'SequenceNumber', 'Policy'] }
      const { Attributes: asked } = await scene.receiveOne(queue, some)
      assert.deepEqual(asked, { SenderId: '000000000000' })
    },
  )

  test('attributes that the filter lets through, and the MD5 of those', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { visibilityMs: 0 })
    const bytes = Buffer.from([0, 255])
    const Help = { DataType: 'Binary.x', BinaryValue: bytes }
    await scene.send(queue, 'msg', { MessageAttributes: { Hello: text('There'), Help } })
    const one = await scene.receiveOne(queue, { MessageAttributeNames: ['Foo', 'Hello'] })
    assert.deepEqual(one.MessageAttributes, { Hello: text('There') })
    assert.equal(one.MD5OfMessageAttributes, 'a311262e065454b75da111d535b8dacd')
    const all = await scene.receiveOne(queue, { MessageAttributeNames: ['Hel.*'] })
    assert.deepEqual(Object.keys(all.MessageAttributes ?? {}).sort(), ['Hello', 'Help'])
    const none = await scene.receiveOne(queue, { MessageAttributeNames: ['AWS.'] })
    assert.equal('MD5OfMessageAttributes' in none, false)
  })
})

describe('what a receive may ask for', () => {
  const outside = (parameter: string, value: number, reason: string) => ({
    code: 'InvalidParameterValue',
    message: `Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}`,
  })

  test.each<[string, number, string]>([
    ['MaxNumberOfMessages', 0, 'Must be between 1 and 10, if provided.'],
    ['MaxNumberOfMessages', 11, 'Must be between 1 and 10, if provided.'],
    ['WaitTimeSeconds', -1, 'Must be >= 0 and <= 20, if provided.'],
    ['WaitTimeSeconds', 21, 'Must be >= 0 and <= 20, if provided.'],
    ['VisibilityTimeout', -1, 'Must be >= 0 and <= 43200, if provided.'],
    ['VisibilityTimeout', 43_201, 'Must be >= 0 and <= 43200, if provided.'],
  ])('%s must not be %d', async (parameter, value, reason) => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    assert.deepEqual(
      await refusal(scene.receive(queue, { [parameter]: value })),
      outside(parameter, value, reason),
    )
  })

  test('an attempt id has a place on FIFO queues only', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    assert.deepEqual(await refusal(scene.receive(queue, { ReceiveRequestAttemptId: 'a' })), {
      code: 'InvalidParameterValue',
      message:
        'Value a for parameter ReceiveRequestAttemptId is invalid. Reason: The request include parameter that is not valid for this queue type.',
    })
  })

  test('one message by default, ten at most', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    for (let count = 0; count < 12; count += 1) await scene.send(queue, `${count}`)
    assert.equal((await scene.receive(queue)).length, 1)
    assert.equal((await scene.receive(queue, { MaxNumberOfMessages: 10 })).length, 10)
  })

  test('a visibility timeout of its own, for these messages alone', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { visibilityMs: minute })
    await scene.send(queue, 'x')
    const first = await scene.receiveOne(queue, { VisibilityTimeout: 0 })
    const second = await scene.receiveOne(queue)
    assert.notEqual(first.ReceiptHandle, second.ReceiptHandle)
    assert.deepEqual(await scene.receive(queue), [])
  })
})

describe('a long poll', () => {
  async function parked(fields: Fields, waitMs = 0) {
    const scene = await openScene()
    const queue = await scene.queue('q', { receiveWaitMs: waitMs, visibilityMs: 5 * second })
    const answers: (readonly WireMessage[])[] = []
    void scene.receive(queue, fields).then((messages) => answers.push(messages))
    await scene.clock.advance(0)
    return { scene, queue, answers }
  }

  test('waits as long as the queue says, and is then answered without Messages', async () => {
    const { scene, answers } = await parked({}, 20 * second)
    await scene.clock.advance(20 * second - 1)
    assert.deepEqual(answers, [])
    await scene.clock.advance(1)
    assert.deepEqual(answers, [[]])
  })

  test('that asks for 0 overrides the wait of the queue', async () => {
    const { answers } = await parked({ WaitTimeSeconds: 0 }, 20 * second)
    assert.deepEqual(answers, [[]])
  })

  test('wakes on a send, on the end of a delay and on the end of a visibility timeout', async () => {
    const { scene, queue, answers } = await parked({ WaitTimeSeconds: 20 })
    await scene.send(queue, 'sent')
    await scene.clock.advance(0)
    assert.equal(answers[0]?.[0]?.Body, 'sent')

    void scene.receive(queue, { WaitTimeSeconds: 20 }).then((messages) => answers.push(messages))
    await scene.send(queue, 'delayed', { DelaySeconds: 2 })
    await scene.clock.advance(2 * second)
    assert.equal(answers[1]?.[0]?.Body, 'delayed')

    void scene.receive(queue, { WaitTimeSeconds: 20 }).then((messages) => answers.push(messages))
    await scene.clock.advance(3 * second)
    assert.equal(answers[2]?.[0]?.Body, 'sent')
  })

  test('wakes on a message that is handed back', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { visibilityMs: 5 * second })
    await scene.send(queue, 'x')
    const { ReceiptHandle } = await scene.receiveOne(queue)
    const waiting = scene.receiveOne(queue, { WaitTimeSeconds: 20 })
    await scene.changeVisibility(queue, ReceiptHandle, 0)
    assert.equal((await waiting).Body, 'x')
  })

  test('whose client has gone takes no message with it, and charges no receive', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const client = new AbortController()
    const gone = { gone: () => client.signal }
    const waiting = scene.call(receiveMessage, queue, { WaitTimeSeconds: 20 }, gone)
    await scene.clock.advance(0)
    client.abort()
    await assert.rejects(waiting, { code: 'aborted' })
    await scene.send(queue, 'x')
    const { Attributes } = await scene.receiveOne(queue, { AttributeNames: ['All'] })
    assert.equal(Attributes?.['ApproximateReceiveCount'], '1')
  })

  test('a short poll does not ask whether its client is still there', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const gone = { gone: () => assert.fail('it was asked') }
    await scene.call(receiveMessage, queue, { WaitTimeSeconds: 0 }, gone)
  })
})

test('messages that did not reach the client are taken back, as if never received', async () => {
  const scene = await openScene()
  const queue = await scene.queueWithDeadLetters('q', 1)
  for (const body of ['a', 'b']) await scene.send(queue, body)
  const context = scene.context(queue)
  const answer = await receiveMessage.run(context, { MaxNumberOfMessages: 10 })
  await receiveMessage.takeBack?.(context, answer)
  const messages = await scene.receive(queue, { MaxNumberOfMessages: 10, AttributeNames: ['All'] })
  assert.deepEqual(
    messages.map(({ Body, Attributes }) => [Body, Attributes?.['ApproximateReceiveCount']]),
    [
      ['a', '1'],
      ['b', '1'],
    ],
  )
  await receiveMessage.takeBack?.(context, {})
})

test('a standard queue with as many in flight as it may have: OverLimit, and silence to who waits', async () => {
  const scene = await openScene()
  const queue = await scene.queue('q')
  const page = 1_000
  const messages = Array.from({ length: page }, () => ({ body: 'x' }))
  for (let count = 0; count < inFlightMax; count += page) {
    await scene.backend.send({ queue, messages })
    await scene.backend.receive({ queue, max: page, visibilityMs: minute })
  }
  await scene.send(queue, 'one more')
  assert.deepEqual(await refusal(scene.receive(queue)), {
    code: 'OverLimit',
    message:
      'Too many messages have been received without being deleted. Please delete your received messages or let them timeout before receiving more.',
  })
  const waiting = scene.receive(queue, { WaitTimeSeconds: 1 })
  await scene.clock.advance(second)
  assert.deepEqual(await waiting, [])
})
