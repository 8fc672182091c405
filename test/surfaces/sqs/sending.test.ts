/** SendMessage: what is answered, what is kept, what is refused and in which words. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { defaultQueueSettings } from '../../../src/core/queue-settings.ts'
import { sendMessage } from '../../../src/surfaces/sqs-protocol/actions/send-message.ts'
import { type Fields, minute, openScene, refusal, type SentAnswer, second } from './action-scene.ts'

const text = (value: string) => ({ DataType: 'String', StringValue: value })

const wrongId = (parameter: string, value: string): string =>
  `Value ${value} for parameter ${parameter} is invalid. Reason: ${parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.`

describe('a message that is sent', () => {
  test('is answered with its id and the digests of what came with it', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const sent = await scene.send(queue, 'Test Message', {
      MessageAttributes: { Hello: text('World') },
      MessageSystemAttributes: { AWSTraceHeader: text('some-trace-id') },
    })
    assert.deepEqual(sent, {
      MessageId: sent.MessageId,
      MD5OfMessageBody: 'd1d4180b7e411c4be86b00fb2ee103eb',
      MD5OfMessageAttributes: '7db7fb1ba7f41366a8ea5eb18220b26d',
      MD5OfMessageSystemAttributes: 'fdce4f2818803f2f73becc09a54792c0',
    })
  })

  test('waits for its own delay, and 0 overrides the delay of the queue', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { delayMs: 5 * second })
    await scene.send(queue, 'own', { DelaySeconds: 2 })
    await scene.send(queue, 'queue')
    await scene.send(queue, 'none', { DelaySeconds: 0 })
    assert.deepEqual(await scene.bodies(queue), ['none'])
    await scene.clock.advance(2 * second)
    assert.deepEqual(await scene.bodies(queue), ['own'])
    await scene.clock.advance(3 * second)
    assert.deepEqual(await scene.bodies(queue), ['queue'])
  })

  test('is refused when its delay is as long as the retention of the queue', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { retentionMs: minute, delayMs: 15 * minute })
    for (const fields of [{ DelaySeconds: 60 }, {}]) {
      const { code, message } = await refusal(scene.send(queue, 'x', fields))
      assert.equal(code, 'InvalidParameterValue')
      assert.match(message, /^DelaySeconds: got .* less than the retention of the queue, 1m/)
    }
    await scene.send(queue, 'in time', { DelaySeconds: 59 })
  })

  test('counts for the limits by key of its queue', async () => {
    const scene = await openScene()
    const perKey = [{ key: 'customer', running: 1, rate: null }]
    const queue = await scene.queue('q', {
      ceilings: { ...defaultQueueSettings.ceilings, perKey },
    })
    const body = '{"customer":"a"}'
    await scene.send(queue, body)
    await scene.send(queue, body)
    assert.deepEqual(await scene.bodies(queue), [body])
    const { code, message } = await refusal(scene.send(queue, '{"customer":["a"]}'))
    assert.equal(code, 'InvalidMessageContents')
    assert.match(message, /body\.customer: got another value, expected text/)
  })

  test('goes once its retention is over', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { retentionMs: minute })
    await scene.send(queue, 'body')
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('carries the trace header of its request, unless it has one of its own', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const own = { MessageSystemAttributes: { AWSTraceHeader: text('own') } }
    const send = (fields: Fields): Promise<SentAnswer> =>
      scene.call(sendMessage, queue, { MessageBody: 'x', ...fields }, { traceHeader: 'header' })
    const fromHeader = await send({})
    await send(own)
    assert.equal('MD5OfMessageSystemAttributes' in fromHeader, false)
    const fields = { AttributeNames: ['AWSTraceHeader'], MaxNumberOfMessages: 10 }
    const messages = await scene.receive(queue, fields)
    assert.deepEqual(
      messages.map(({ Attributes }) => Attributes),
      [{ AWSTraceHeader: 'header' }, { AWSTraceHeader: 'own' }],
    )
  })

  test('names its sender: the account of the server, or another one', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const caller = { region: 'us-east-1', account: '123456789012', id: '123456789012' }
    await scene.call(sendMessage, queue, { MessageBody: 'x' }, { caller })
    await scene.send(queue, 'x')
    const fields = { AttributeNames: ['SenderId'], MaxNumberOfMessages: 10 }
    const senders = (await scene.receive(queue, fields)).map(({ Attributes }) => Attributes)
    assert.deepEqual(senders, [{ SenderId: '123456789012' }, { SenderId: '000000000000' }])
  })
})

describe('a message that is refused', () => {
  const shorterThan = (bytes: number): string =>
    `One or more parameters are invalid. Reason: Message must be shorter than ${bytes} bytes.`

  test.each<[string, Fields, string, string]>([
    ['has no body', {}, 'MissingParameter', 'The request must contain the parameter MessageBody.'],
    [
      'has an empty body',
      { MessageBody: '' },
      'MissingParameter',
      'The request must contain the parameter MessageBody.',
    ],
    [
      'has a character that XML has not',
      { MessageBody: 'ok\u0007\u0001' },
      'InvalidMessageContents',
      "Invalid binary character '#x7' was found in the message body, the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].",
    ],
    [
      'has half a character',
      { MessageBody: '\uD800' },
      'InvalidMessageContents',
      "Invalid binary character '#xD800' was found in the message body, the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].",
    ],
    [
      'is delayed by less than nothing',
      { MessageBody: 'x', DelaySeconds: -234 },
      'InvalidParameterValue',
      'Value -234 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.',
    ],
    [
      'is delayed for too long',
      { MessageBody: 'x', DelaySeconds: 901 },
      'InvalidParameterValue',
      'Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.',
    ],
    [
      'has a deduplication id on a standard queue',
      { MessageBody: 'x', MessageDeduplicationId: 'd' },
      'InvalidParameterValue',
      'The request include parameter MessageDeduplicationId which is not valid for this queue type',
    ],
    [
      'has an empty group',
      { MessageBody: 'x', MessageGroupId: '' },
      'InvalidParameterValue',
      wrongId('MessageGroupId', ''),
    ],
    [
      'has a group with a space',
      { MessageBody: 'x', MessageGroupId: 'group 123' },
      'InvalidParameterValue',
      wrongId('MessageGroupId', 'group 123'),
    ],
    [
      'has a long group',
      { MessageBody: 'x', MessageGroupId: 'a'.repeat(129) },
      'InvalidParameterValue',
      wrongId('MessageGroupId', 'a'.repeat(129)),
    ],
    [
      'has an empty attribute',
      { MessageBody: 'x', MessageAttributes: { ErrorDetails: text('') } },
      'InvalidParameterValue',
      "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.",
    ],
    [
      'has an unknown system attribute',
      { MessageBody: 'x', MessageSystemAttributes: { Hello: text('x') } },
      'InvalidParameterValue',
      "Message system attribute name 'Hello' is invalid.",
    ],
  ])('%s', async (_what, fields, code, message) => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    assert.deepEqual(await refusal(scene.call(sendMessage, queue, fields)), { code, message })
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('is larger than 1 MiB, by a byte', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    await scene.send(queue, 'x'.repeat(1_048_576))
    assert.deepEqual(await refusal(scene.send(queue, 'x'.repeat(1_048_577))), {
      code: 'InvalidParameterValue',
      message: shorterThan(1_048_576),
    })
  })

  test('is larger than its queue allows, attributes counted by name, type and value', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { messageBytesMax: 1_024 })
    const attribute = { MessageAttributes: { name: text('é') } }
    await scene.send(queue, 'x'.repeat(1_024 - 4 - 6 - 2), attribute)
    assert.deepEqual(await refusal(scene.send(queue, 'x'.repeat(1_024 - 4 - 6 - 1), attribute)), {
      code: 'InvalidParameterValue',
      message: shorterThan(1_024),
    })
  })

  test('is for a queue that does not exist', async () => {
    const scene = await openScene()
    assert.deepEqual(await refusal(scene.send('missing', 'x')), {
      code: 'AWS.SimpleQueueService.NonExistentQueue',
      message: 'The specified queue does not exist.',
    })
  })
})

describe('a message for a FIFO queue', () => {
  test.each<[string, Fields, string, string]>([
    [
      'has no group',
      { MessageDeduplicationId: 'd' },
      'MissingParameter',
      'The request must contain the parameter MessageGroupId.',
    ],
    [
      'has no deduplication id, and its queue makes none',
      { MessageGroupId: 'g' },
      'InvalidParameterValue',
      'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    ],
    [
      'has a delay of its own',
      { MessageGroupId: 'g', MessageDeduplicationId: 'd', DelaySeconds: 2 },
      'InvalidParameterValue',
      'Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.',
    ],
    [
      'has an empty deduplication id',
      { MessageGroupId: 'g', MessageDeduplicationId: '' },
      'InvalidParameterValue',
      wrongId('MessageDeduplicationId', ''),
    ],
    [
      'has a deduplication id with a space',
      { MessageGroupId: 'g', MessageDeduplicationId: 'group 123' },
      'InvalidParameterValue',
      wrongId('MessageDeduplicationId', 'group 123'),
    ],
    [
      'has a long deduplication id',
      { MessageGroupId: 'g', MessageDeduplicationId: 'a'.repeat(129) },
      'InvalidParameterValue',
      wrongId('MessageDeduplicationId', 'a'.repeat(129)),
    ],
  ])('is refused when it %s', async (_what, fields, code, message) => {
    const scene = await openScene()
    const queue = await scene.queue('q.fifo')
    assert.deepEqual(await refusal(scene.send(queue, 'x', fields)), { code, message })
  })

  test('takes 0 for the delay of the queue', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q.fifo', { delayMs: 2 * second, deduplicateByContent: true })
    await scene.send(queue, 'x', { MessageGroupId: 'g', DelaySeconds: 0 })
    assert.deepEqual(await scene.bodies(queue), [])
    await scene.clock.advance(2 * second)
    assert.deepEqual(await scene.bodies(queue), ['x'])
  })

  test('has a sequence number of 20 digits that rises, and comes with the message', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q.fifo', { deduplicateByContent: true })
    const { SequenceNumber: first = '' } = await scene.send(queue, 'a', { MessageGroupId: 'g' })
    const { SequenceNumber: second = '' } = await scene.send(queue, 'b', { MessageGroupId: 'g' })
    assert.match(first, /^\d{20}$/)
    assert.ok(BigInt(first) < BigInt(second))
    const { Attributes = {} } = await scene.receiveOne(queue, { AttributeNames: ['All'] })
    assert.equal(Attributes['SequenceNumber'], first)
  })
})
