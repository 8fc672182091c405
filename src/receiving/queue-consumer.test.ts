import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type {
  Backend,
  Delivery,
  Extend,
  LeaseResult,
  Receive,
  Settle,
  SettleResult,
} from '../backends/backend.ts'
import { type DeclaredQueue, fifo, queue } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { RefusedDelivery } from './check-deliveries.ts'
import { createConsumer, type UntypedConsumer } from './queue-consumer.ts'
import type { TypedDelivery } from './typed-delivery.ts'

const Video = z.object({ fileKey: z.string().transform((key) => key.toUpperCase()) })
const settled: SettleResult = { status: 'settled', emitted: [], enqueued: [] }

interface Scene {
  readonly consumer: UntypedConsumer
  readonly receives: Receive[]
  readonly settles: Settle[]
  readonly extensions: Extend[]
  readonly refused: RefusedDelivery[]
}

interface Script {
  readonly declared?: DeclaredQueue
  readonly deliveries?: readonly Partial<Delivery>[]
  readonly settle?: (request: Settle) => SettleResult
  readonly extend?: LeaseResult
}

function scene(script: Script = {}): Scene {
  const { declared = queue({ schema: Video }), deliveries = [{}] } = script
  const receives: Receive[] = []
  const settles: Settle[] = []
  const extensions: Extend[] = []
  const refused: RefusedDelivery[] = []
  const backend: Pick<Backend, 'receive' | 'settle' | 'extend'> = {
    async receive(request) {
      receives.push(request)
      return deliveries.map(delivery)
    },
    async settle(request) {
      settles.push(request)
      return [script.settle?.(request) ?? settled]
    },
    async extend(request) {
      extensions.push(request)
      return [script.extend ?? { status: 'extended', leaseExpiresAt: 9 }]
    },
  }
  const onRefused = (one: RefusedDelivery): void => void refused.push(one)
  const consumer = createConsumer({ backend, name: 'q', declared, onRefused })
  return { consumer, receives, settles, extensions, refused }
}

function delivery(given: Partial<Delivery>, index: number): Delivery {
  return {
    id: `id-${index}`,
    sequence: index + 1,
    body: '{"fileKey":"a"}',
    attributes: {},
    systemAttributes: {},
    group: null,
    deduplicationId: null,
    sentAt: 1_000,
    firstReceivedAt: 2_000,
    receiveCount: 1,
    deadLetterOrigin: null,
    receipt: `receipt-${index}`,
    token: 10 + index,
    leasedAt: 2_000,
    leaseExpiresAt: 32_000,
    job: null,
    unit: null,
    ...given,
  }
}

async function receiveOne({ consumer }: Scene): Promise<TypedDelivery<unknown>> {
  const [first] = await consumer.receive()
  assert.ok(first !== undefined)
  return first
}

describe('receiving', () => {
  test('asks for one message with the settings of the queue', async () => {
    const { consumer, receives } = scene()
    await consumer.receive()
    assert.deepEqual(receives, [{ queue: 'q', max: 1 }])
  })

  test('passes on what was asked for', async () => {
    const { consumer, receives } = scene()
    const { signal } = new AbortController()
    await consumer.receive({ max: 10, visibility: '5m', wait: '20s', signal })
    const expected = { queue: 'q', max: 10, visibilityMs: 300_000, waitMs: 20_000, signal }
    assert.deepEqual(receives, [expected])
  })

  test('gives the output of the schema, and what is known about the message', async () => {
    const attributes = { trace: { type: 'String', value: 'abc' } }
    const deadLetterOrigin = { source: 'other', at: 5, reason: null }
    const first = await receiveOne(
      scene({ deliveries: [{ group: 'acme', receiveCount: 3, attributes, deadLetterOrigin }] }),
    )
    assert.deepEqual(JSON.parse(JSON.stringify(first)), {
      message: { fileKey: 'A' },
      id: 'id-0',
      sequence: 1,
      receiveCount: 3,
      sentAt: 1_000,
      leaseExpiresAt: 32_000,
      token: 10,
      tenant: 'acme',
      group: null,
      attributes,
      deadLetterOrigin,
      traceContext: null,
    })
  })
})

describe('a delivery', () => {
  const lease = { receipt: 'receipt-0' }

  test('ends in each of the four ways, under its own receipt', async () => {
    const stage = scene()
    const one = await receiveOne(stage)
    assert.deepEqual(await one.acknowledge(), settled)
    await one.retry()
    await one.retry({ in: '30s' })
    await one.release()
    await one.deadLetter('no such video')
    assert.deepEqual(
      stage.settles.map(({ settlements }) => settlements),
      [
        [{ ...lease, outcome: { kind: 'acknowledge' } }],
        [{ ...lease, outcome: { kind: 'retry', delayMs: 0 } }],
        [{ ...lease, outcome: { kind: 'retry', delayMs: 30_000 } }],
        [{ ...lease, outcome: { kind: 'release' } }],
        [{ ...lease, outcome: { kind: 'deadLetter', reason: 'no such video' } }],
      ],
    )
  })

  test('is acknowledged together with what it emits', async () => {
    const stage = scene()
    const emit = { queue: 'next', message: { body: '1' } }
    const one = await receiveOne(stage)
    await one.acknowledge({ emits: [{ toEmitted: async () => emit }] })
    const expected = { ...lease, outcome: { kind: 'acknowledge' }, emits: [emit] }
    assert.deepEqual(stage.settles, [{ queue: 'q', settlements: [expected] }])
  })

  test('is not acknowledged when what it emits is refused', async () => {
    const stage = scene()
    const one = await receiveOne(stage)
    const error = new MillraceError('invalid_message')
    const bad = { toEmitted: () => Promise.reject(error) }
    await assert.rejects(one.acknowledge({ emits: [bad] }), error)
    assert.deepEqual(stage.settles, [])
  })

  test('can be kept longer', async () => {
    const stage = scene()
    const one = await receiveOne(stage)
    assert.deepEqual(await one.extend('5m'), { status: 'extended', leaseExpiresAt: 9 })
    assert.deepEqual(stage.extensions, [
      { queue: 'q', leases: [{ ...lease, visibilityMs: 300_000 }] },
    ])
  })

  test.each(['gone', 'stale', 'lapsed'] as const)(
    'whose lease is %s gets that as an answer',
    async (status) => {
      const one = await receiveOne(scene({ settle: () => ({ status }), extend: { status } }))
      assert.deepEqual(await one.acknowledge(), { status })
      assert.deepEqual(await one.extend('1m'), { status })
    },
  )

  test('throws what could never succeed', async () => {
    const error = new MillraceError('dead_letter_missing')
    const refusal = { status: 'refused', error } as const
    const one = await receiveOne(scene({ settle: () => refusal, extend: refusal }))
    await assert.rejects(one.deadLetter('why'), error)
    await assert.rejects(one.extend('1m'), error)
    await assert.rejects(one.extend('x' as '1m'), /duration: got 'x'/)
  })
})

describe('a body that does not match the contract', () => {
  test.each([
    ['is not JSON', '<video/>', /message: got a body that is not JSON, expected JSON/],
    ['misses a field', '{"file":"pa55word"}', /message.fileKey: got nothing, expected string/],
  ])('is dead-lettered when it %s', async (_why, body, text) => {
    const { consumer, settles, refused } = scene({ deliveries: [{ body }, {}] })
    const deliveries = await consumer.receive({ max: 2 })
    assert.deepEqual(
      deliveries.map(({ id }) => id),
      ['id-1'],
    )
    const outcome = settles[0]?.settlements[0]?.outcome
    assert.ok(outcome?.kind === 'deadLetter')
    assert.match(outcome.reason, text)
    assert.ok(!outcome.reason.includes('pa55word'))
    assert.equal(refused[0]?.fate, 'dead_lettered')
    assert.equal(refused[0]?.error.code, 'invalid_message')
  })

  test('stays in the queue, and is reported, where there is no dead-letter queue', async () => {
    const error = new MillraceError('dead_letter_missing')
    const { consumer, refused } = scene({
      deliveries: [{ body: '1', receiveCount: 4 }],
      settle: () => ({ status: 'refused', error }),
    })
    assert.deepEqual(await consumer.receive(), [])
    const [{ error: reason, ...report } = assert.fail()] = refused
    assert.deepEqual(report, { queue: 'q', id: 'id-0', receiveCount: 4, fate: 'kept' })
    assert.match(reason.message, /^message: got a number, expected object$/)
  })

  test('is reported as left when burying it fails, and costs no other delivery', async () => {
    const { consumer, refused } = scene({
      deliveries: [{ body: '1' }, {}],
      settle: () => {
        throw new MillraceError('store_full')
      },
    })
    assert.equal((await consumer.receive()).length, 1)
    assert.equal(refused[0]?.fate, 'kept')
    assert.ok(refused[0]?.error.cause instanceof MillraceError)
  })

  test('is reported as left when its lease has lapsed meanwhile', async () => {
    const { consumer, refused } = scene({
      deliveries: [{ body: '1' }],
      settle: () => ({ status: 'lapsed' }),
    })
    await consumer.receive()
    assert.equal(refused[0]?.fate, 'kept')
  })

  test('is not judged by a schema that fails itself', async () => {
    const cause = new Error('the lookup failed')
    const declared = queue({
      schema: z.string().refine(() => {
        throw cause
      }),
    })
    const { consumer, refused, settles } = scene({ declared, deliveries: [{ body: '"x"' }] })
    assert.deepEqual(await consumer.receive(), [])
    assert.deepEqual(settles, [])
    assert.equal(refused[0]?.fate, 'kept')
    assert.equal(refused[0]?.error.cause, cause)
  })
})

describe('a body that stays at the head of its FIFO group', () => {
  const bad = { body: '1', group: 'a' }
  const missing = new MillraceError('dead_letter_missing')
  const noDeadLetters = ({ settlements }: Settle): SettleResult =>
    settlements[0]?.outcome.kind === 'deadLetter' ? { status: 'refused', error: missing } : settled

  test('sends back those behind it, and no others', async () => {
    const { consumer, settles } = scene({
      declared: fifo({ schema: Video }),
      deliveries: [bad, { group: 'a' }, { group: 'b' }],
      settle: noDeadLetters,
    })
    const deliveries = await consumer.receive({ max: 3 })
    assert.deepEqual(
      deliveries.map(({ id }) => id),
      ['id-2'],
    )
    const [, release] = settles.map(({ settlements }) => settlements[0])
    assert.deepEqual(release, { receipt: 'receipt-1', outcome: { kind: 'release' } })
  })

  test('costs no other delivery when the store fails meanwhile', async () => {
    const { consumer } = scene({
      declared: fifo({ schema: Video }),
      deliveries: [bad, { group: 'a' }, { group: 'b' }],
      settle: () => {
        throw new MillraceError('store_failed')
      },
    })
    assert.equal((await consumer.receive({ max: 3 })).length, 1)
  })

  test('does not hold up a standard queue, where groups have no order', async () => {
    const { consumer } = scene({ deliveries: [bad, { group: 'a' }], settle: noDeadLetters })
    assert.equal((await consumer.receive({ max: 2 })).length, 1)
  })
})
