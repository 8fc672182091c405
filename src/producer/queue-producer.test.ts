import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { Backend, Send, SendResult } from '../backends/backend.ts'
import { type DeclaredQueue, fifo, queue } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { virtualPorts } from '../testing/virtual-clock.ts'
import { createProducer, type UntypedProducer } from './queue-producer.ts'

const Video = z.object({ fileKey: z.string(), at: z.date().optional() })

interface Scene {
  readonly producer: UntypedProducer
  /** What reached the backend. */
  readonly sends: readonly Send[]
}

function scene(declared: DeclaredQueue, answers?: readonly SendResult[]): Scene {
  const sends: Send[] = []
  const backend: Pick<Backend, 'send'> = {
    async send(request) {
      sends.push(request)
      return (
        answers ??
        request.messages.map((_, index) => ({
          status: 'created',
          id: `id-${index}`,
          sequence: index + 1,
        }))
      )
    },
  }
  const setup = { backend, name: 'app-dev-q', declared, clock: virtualPorts().clock }
  return { producer: createProducer(setup), sends }
}

describe('sending one message', () => {
  test('stores it as JSON and answers its id', async () => {
    const { producer, sends } = scene(queue({ schema: Video }))
    const sent = await producer.send({ fileKey: 'a.mp4' })
    assert.deepEqual(sent, { status: 'created', id: 'id-0', sequence: 1 })
    assert.deepEqual(sends, [
      { queue: 'app-dev-q', messages: [{ body: '{"fileKey":"a.mp4"}' }], allOrNothing: true },
    ])
  })

  test('stores what was given, not what the schema makes of it', async () => {
    const { producer, sends } = scene(
      queue({ schema: z.string().transform((text) => text.length) }),
    )
    await producer.send('four')
    assert.equal(sends[0]?.messages[0]?.body, '"four"')
  })

  test('passes on delay, group, deduplication id and attributes', async () => {
    const attributes = { trace: { type: 'String', value: 'abc' } }
    const standard = scene(queue())
    await standard.producer.send(1, { delay: '5m', tenant: 'acme', attributes })
    assert.deepEqual(standard.sends[0]?.messages, [
      { body: '1', delayMs: 300_000, group: 'acme', attributes },
    ])
    const ordered = scene(fifo())
    await ordered.producer.send(1, { group: 'g', deduplicationId: 'd' })
    assert.deepEqual(ordered.sends[0]?.messages, [{ body: '1', group: 'g', deduplicationId: 'd' }])
  })

  test('answers that the queue had it already', async () => {
    const answer = { status: 'duplicate', id: 'first', sequence: 7 } as const
    assert.deepEqual(await scene(fifo(), [answer]).producer.send(1), answer)
  })

  test('throws what the backend refused', async () => {
    const error = new MillraceError('message_group_missing')
    const { producer } = scene(fifo(), [{ status: 'refused', error }])
    await assert.rejects(producer.send(1), error)
  })

  test('does not take silence for an answer', async () => {
    await assert.rejects(scene(queue(), []).producer.send(1), { code: 'store_failed' })
  })

  test('stores nothing when the message does not match', async () => {
    const { producer, sends } = scene(queue({ schema: Video }))
    await assert.rejects(producer.send({ fileKey: 3 }), {
      code: 'invalid_message',
      message: /message\.fileKey/,
    })
    await assert.rejects(producer.send(undefined), { code: 'invalid_message', message: /message/ })
    assert.deepEqual(sends, [])
  })

  test('stores nothing when the message would not match after its way through JSON', async () => {
    const { producer, sends } = scene(queue({ schema: Video }))
    await assert.rejects(producer.send({ fileKey: 'a', at: new Date(0) }), {
      code: 'invalid_message',
      message: /message\.at: got a string, expected date/,
    })
    assert.deepEqual(sends, [])
  })

  test('stores nothing when an option is wrong', async () => {
    const { producer, sends } = scene(queue())
    await assert.rejects(producer.send(1, { delay: 'soon' as '1s' }), {
      code: 'invalid_argument',
      message: /delay: got 'soon'/,
    })
    assert.deepEqual(sends, [])
  })
})

describe('sending many messages', () => {
  test('stores them in one call, all or nothing', async () => {
    const { producer, sends } = scene(queue())
    const sent = await producer.sendMany([1, 2], { delay: '1s' })
    assert.deepEqual(
      sent.map(({ id }) => id),
      ['id-0', 'id-1'],
    )
    assert.deepEqual(sends, [
      {
        queue: 'app-dev-q',
        messages: [
          { body: '1', delayMs: 1_000 },
          { body: '2', delayMs: 1_000 },
        ],
        allOrNothing: true,
      },
    ])
  })

  test('takes options that depend on the message', async () => {
    const { producer, sends } = scene(fifo())
    await producer.sendMany(['a', 'b'], (message, index) => ({
      group: String(message),
      deduplicationId: `${index}`,
    }))
    assert.deepEqual(sends[0]?.messages, [
      { body: '"a"', group: 'a', deduplicationId: '0' },
      { body: '"b"', group: 'b', deduplicationId: '1' },
    ])
  })

  test('names every message that does not match, and stores none', async () => {
    const { producer, sends } = scene(queue({ schema: Video }))
    await assert.rejects(producer.sendMany([{ fileKey: 'a' }, {}, { fileKey: 1n }]), {
      code: 'invalid_message',
      message: /messages\[1\]\.fileKey: got nothing.*\nmessages\[2\]\.fileKey/,
    })
    assert.deepEqual(sends, [])
  })

  test('throws at once what has nothing to do with the messages', async () => {
    const { producer, sends } = scene(queue())
    await assert.rejects(producer.sendMany([1], { delay: 'soon' as '1s' }), {
      code: 'invalid_argument',
      message: /delay/,
    })
    assert.deepEqual(sends, [])
  })

  test('refuses what is not an array', async () => {
    const { producer, sends } = scene(queue())
    await assert.rejects(producer.sendMany('text' as never), /^MillraceError: messages: got 'text'/)
    assert.deepEqual(sends, [])
  })

  test('has nothing to do without messages', async () => {
    const { producer, sends } = scene(queue())
    assert.deepEqual(await producer.sendMany([]), [])
    assert.deepEqual(sends, [])
  })
})

describe('a draft', () => {
  test('becomes what the backend emits with a settlement', async () => {
    const { producer, sends } = scene(queue({ schema: Video }))
    const draft = producer.prepare({ fileKey: 'a' }, { delay: '1s' })
    assert.deepEqual(await draft.toEmitted(), {
      queue: 'app-dev-q',
      message: { body: '{"fileKey":"a"}', delayMs: 1_000 },
    })
    assert.deepEqual(sends, [])
  })

  test('is checked when it is used', async () => {
    const { producer } = scene(queue({ schema: Video }))
    await assert.rejects(producer.prepare({}).toEmitted(), {
      code: 'invalid_message',
      message: /message\.fileKey/,
    })
  })
})
