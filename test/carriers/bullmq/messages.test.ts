import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'vitest'
import {
  bullQueue,
  eventually,
  message,
  queue,
  receive,
  receiveOne,
  scene,
  send,
  tracked,
} from './scene.ts'

describe('a message on BullMQ', () => {
  test.each([
    '{"examId":12,"pages":[]}',
    '{ "spaced":  true }\n',
    '[1.0, 1e3, -0, 12345678901234567890]',
    '"text"',
    'null',
    '',
    'plain text, "quoted" \u0000 \u2028 ü 😀',
    'a lone surrogate: \ud800',
    '"a lone surrogate: \ud800"',
    '{"a":1} and more',
  ])('keeps its body exactly: %j', async (body) => {
    const { carrier } = await scene()
    const [id] = await send(carrier, body)
    const delivery = await receiveOne(carrier)
    assert.equal(delivery.body, body)
    assert.equal(delivery.id, id)
    assert.equal(delivery.labels, null)
    assert.equal(delivery.jobType, null)
    assert.equal(delivery.receiveCount, 1)
    assert.ok(Math.abs(delivery.sentAt - Date.now()) < 60_000)
  })

  test('keeps what is beside the body', async () => {
    const { carrier } = await scene()
    const details = '{"error":"boom","empty":[]}'
    const given = message('{}', {
      labels: {
        id: randomUUID(),
        isTracked: true,
        job: { type: 'ocr', attemptsMade: 2, maxAttempts: 5 },
        details,
        deadLetterOrigin: { source: 'other', at: 1_790_000_000_123, reason: null },
        systemAttributes: { a: 'b' },
      },
      attributes: {
        text: { type: 'String', value: 'ü\u0000' },
        count: { type: 'Number.int', value: '1' },
        bytes: { type: 'Binary', value: new Uint8Array([0, 255, 128]) },
      },
      systemAttributes: { AWSTraceHeader: 'Root=1', 'millrace.priority': '7' },
      group: 'tenant 1',
      deduplicationId: 'once',
    })
    await send(carrier, given)
    const { labels, attributes, systemAttributes, group, deduplicationId, jobType } =
      await receiveOne(carrier)
    assert.deepEqual(
      { labels, attributes, systemAttributes, group, deduplicationId },
      {
        labels: given.labels,
        attributes: given.attributes,
        systemAttributes: given.systemAttributes,
        group: 'tenant 1',
        deduplicationId: 'once',
      },
    )
    assert.equal(jobType, null)
  })

  test('is a job with its type as the name, its payload as the data and its id', async () => {
    const at = await scene()
    const id = randomUUID()
    await send(at.carrier, message('{"examId":1}', tracked(id)))
    const job = await bullQueue(at).getJob(id)
    assert.deepEqual([job?.name, job?.data, job?.opts.attempts], ['ocr', { examId: 1 }, 3])
  })

  test('has no key of the queue as its id', async () => {
    const at = await scene()
    const ids = ['wait', 'meta', '12', 'a:b', '%3A']
    await send(at.carrier, ...ids.map((id) => message('{}', tracked(id))))
    const received = await receive(at.carrier, { waitMs: 5_000, max: 1 })
    const rest = await receive(at.carrier)
    const others = await receive(at.carrier)
    assert.deepEqual(
      [...received, ...rest, ...others].map(({ labels }) => labels?.id),
      ids,
    )
  })

  test('is not there twice while it waits, and can be sent again when its job has ended', async () => {
    const { carrier } = await scene()
    const id = randomUUID()
    for (const end of [{}, { error: 'boom' }]) {
      await send(carrier, message('{}', tracked(id)), message('{}', tracked(id)))
      await send(carrier, message('{}', tracked(id)))
      const { handle } = await receiveOne(carrier)
      assert.deepEqual(await receive(carrier), [])
      assert.deepEqual(await carrier.remove({ queue, messages: [{ handle, ...end }] }), [true])
    }
    await send(carrier, message('{}', tracked(id)))
    assert.equal((await receiveOne(carrier)).labels?.id, id)
  })

  test('is delayed', async () => {
    const { carrier } = await scene()
    await send(carrier, message('"later"', { delayMs: 300 }), '"now"')
    assert.deepEqual(
      (await receive(carrier)).map(({ body }) => body),
      ['"now"'],
    )
    assert.deepEqual(await receive(carrier), [])
    const startedAt = performance.now()
    assert.equal((await receiveOne(carrier)).body, '"later"')
    assert.ok(performance.now() - startedAt < 4_000, 'it waited for the next look')
  })

  test('is refused alone if its priority is no number', async () => {
    const { carrier } = await scene()
    const bad = message('1', { systemAttributes: { 'millrace.priority': 'high' } })
    const sent = await carrier.send({ queue, messages: [message('0'), bad, message('2')] })
    assert.deepEqual(
      sent.map((one) => (one.status === 'refused' ? one.error.code : one.status)),
      ['created', 'invalid_argument', 'created'],
    )
  })

  test('comes by its priority', async () => {
    const { carrier } = await scene()
    const ranked = (body: string, priority: string) =>
      message(body, { systemAttributes: { 'millrace.priority': priority } })
    await send(carrier, ranked('3', '3'), ranked('1', '1'), ranked('2', '2'), '0')
    const bodies: string[] = []
    await eventually(async () => {
      bodies.push(...(await receive(carrier)).map(({ body }) => body))
      assert.equal(bodies.length, 4)
    })
    assert.deepEqual(bodies, ['0', '1', '2', '3'])
  })
})
