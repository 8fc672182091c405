/** The spans of an app: names, kinds, attributes, links, and what failures look like. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { InMemorySpanExporter, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { open } from '../../src/app/open.ts'
import { defineApp, jobs, queue } from '../../src/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { collectingLogger, type LogLine, openScene, withTime } from '../support/worker-scene.ts'
import {
  attributesOf,
  idOf,
  names,
  registerProvider,
  span,
  spans,
  traceIds,
  tree,
  within,
} from './trace-scene.ts'

registerProvider()

const app = defineApp('shop', {
  queues: {
    orders: queue({ schema: z.object({ n: z.number() }), deadLetter: { after: 2 } }),
    mail: jobs({
      types: {
        SEND: {
          schema: z.object({ to: z.string(), token: z.string().optional() }),
          secret: ['token'],
          result: z.object({ ok: z.boolean() }),
        },
      },
      attempts: 2,
      backoff: { from: '1s', factor: 1, jitter: 0 },
    }),
  },
})

const orders = 'shop-dev-orders'
const mail = 'shop-dev-mail'

describe('sending', () => {
  test('one message makes a producer span with its id', async () => {
    const { mill } = await openScene(app)
    const { id } = await mill.queues.orders.send({ n: 1 })
    const sent = span(`send ${orders}`)
    assert.equal(sent.kind, SpanKind.PRODUCER)
    assert.deepEqual(sent.attributes, {
      'messaging.system': 'millrace',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': orders,
      'messaging.message.id': id,
      'millrace.status': 'created',
    })
    assert.equal(sent.instrumentationScope.name, 'millrace')
    assert.match(sent.instrumentationScope.version ?? '', /^\d+\./)
  })

  test('many messages makes a span for each, under a client span for all', async () => {
    const { mill, clock } = await openScene(app)
    await mill.queues.orders.sendMany([{ n: 1 }, { n: 2 }])
    const all = span(`send ${orders}`)
    assert.equal(all.kind, SpanKind.CLIENT)
    assert.deepEqual(attributesOf(all), { 'messaging.batch.message_count': 2 })
    const created = spans(`create ${orders}`)
    assert.deepEqual(
      created.map((one) => [one.kind, one.parentSpanContext?.spanId]),
      [
        [SpanKind.PRODUCER, idOf(all)],
        [SpanKind.PRODUCER, idOf(all)],
      ],
    )
    const worker = mill.worker({ poll: ['orders'], handle: { orders: () => undefined } })
    await withTime(clock, worker.drain())
    const parents = spans(`process ${orders}`).map((one) => one.parentSpanContext?.spanId)
    assert.deepEqual(parents.toSorted(), created.map(idOf).toSorted())
  })

  test('a job fills its trace id, unless another one is given', async () => {
    const { mill } = await openScene(app)
    const first = await mill.jobs.enqueue('mail', 'SEND', { to: 'a' })
    const sent = span(`send ${mail}`)
    assert.deepEqual(attributesOf(sent), {
      'messaging.message.id': first.id,
      'millrace.job.id': first.id,
      'millrace.job.type': 'SEND',
      'millrace.status': 'created',
    })
    assert.equal((await mill.jobs.get(first.id))?.traceId, sent.spanContext().traceId)
    const second = await mill.jobs.enqueue('mail', 'SEND', { to: 'a' }, { traceId: 'mine' })
    assert.equal((await mill.jobs.get(second.id))?.traceId, 'mine')
    const many = await mill.jobs.enqueueMany('mail', [
      { type: 'SEND', payload: { to: 'b' } },
      { type: 'SEND', payload: { to: 'c' } },
    ])
    assert.equal(spans(`create ${mail}`).length, many.length)
  })

  test('a job in a transaction of the caller makes a span as well', async () => {
    const folder = await temporaryFolder('traced-transaction')
    const mill = await open(app, { data: folder.path })
    const db = new DatabaseSync(mill.storeFile ?? '')
    db.exec('BEGIN IMMEDIATE')
    const { id } = await mill.jobs.enqueue('mail', 'SEND', { to: 'a' }, { tx: db })
    db.exec('COMMIT')
    db.close()
    assert.equal((await mill.jobs.get(id))?.traceId, span(`send ${mail}`).spanContext().traceId)
    await mill.close()
    await folder.remove()
  })

  test('what the store refuses makes a span that failed', async () => {
    const { mill } = await openScene(app)
    await mill.jobs.enqueue('mail', 'SEND', { to: 'a' }, { idempotencyKey: 'k' })
    const again = mill.jobs.enqueue('mail', 'SEND', { to: 'b' }, { idempotencyKey: 'k' })
    await assert.rejects(again, { code: 'idempotency_conflict' })
    const [, failed] = spans(`send ${mail}`)
    assert.equal(failed?.status.code, SpanStatusCode.ERROR)
    assert.equal(failed?.attributes['error.type'], 'idempotency_conflict')
  })
})

describe('a job with a traceparent', () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

  test('follows from that span, unless a span is active', async () => {
    const { mill } = await openScene(app)
    await mill.jobs.enqueue('mail', 'SEND', { to: 'a' }, { traceparent })
    const many = [{ type: 'SEND', payload: { to: 'b' }, traceparent } as const]
    await mill.jobs.enqueueMany('mail', [...many, ...many])
    const [alone] = spans(`send ${mail}`)
    for (const one of [alone, ...spans(`create ${mail}`)]) {
      assert.equal(one?.parentSpanContext?.spanId, 'b'.repeat(16))
      assert.equal(one?.spanContext().traceId, 'a'.repeat(32))
    }
    await within('request', () => mill.jobs.enqueue('mail', 'SEND', { to: 'c' }, { traceparent }))
    const [, , last] = spans(`send ${mail}`)
    assert.equal(last?.parentSpanContext?.spanId, idOf(span('request')))
  })

  test('keeps it without traces as well', async () => {
    const { mill, backend } = await openScene(app, { traces: false })
    const { id } = await mill.jobs.enqueue('mail', 'SEND', { to: 'a' }, { traceparent })
    assert.equal((await mill.jobs.get(id))?.traceId, 'a'.repeat(32))
    const [delivery] = await backend.receive({ queue: mail, max: 1 })
    assert.deepEqual({ ...delivery?.systemAttributes }, { traceparent })
    assert.deepEqual(names(), [])
  })

  test('must be valid', async () => {
    const { mill } = await openScene(app)
    for (const wrong of ['', 'x', `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`]) {
      const enqueued = mill.jobs.enqueue('mail', 'SEND', { to: 'a' }, { traceparent: wrong })
      await assert.rejects(enqueued, {
        code: 'invalid_argument',
        message:
          'traceparent: got another text, expected a header such as 00-<32 hex digits>-<16 hex digits>-01',
      })
    }
    assert.deepEqual(names(), [])
  })
})

describe('receiving by hand', () => {
  test('makes a span that is linked to the senders, and one for each settlement', async () => {
    const { mill } = await openScene(app)
    await mill.queues.orders.sendMany([{ n: 1 }, { n: 2 }])
    const created = spans(`create ${orders}`)
    await within('loop', async () => {
      const deliveries = await mill.queues.orders.receive({ max: 10 })
      const [first, second] = deliveries
      await first?.acknowledge({ emits: [mill.queues.orders.prepare({ n: 3 })] })
      await second?.release()
    })
    const received = span(`receive ${orders}`)
    assert.equal(received.kind, SpanKind.CLIENT)
    assert.deepEqual(attributesOf(received), { 'messaging.batch.message_count': 2 })
    assert.deepEqual(
      received.links.map(({ context }) => context.spanId).toSorted(),
      created.map(idOf).toSorted(),
    )
    assert.deepEqual(
      spans(`settle ${orders}`).map((one) => [one.kind, one.attributes['millrace.outcome']]),
      [
        [SpanKind.CLIENT, 'acknowledge'],
        [SpanKind.CLIENT, 'release'],
      ],
    )
    const loop = idOf(span('loop'))
    for (const one of [
      received,
      ...spans(`settle ${orders}`),
      ...spans(`create ${orders}`).slice(2),
    ]) {
      assert.equal(one.parentSpanContext?.spanId, loop)
    }
  })

  test('gives the context of the sender, to continue its trace', async () => {
    const { mill } = await openScene(app)
    await mill.queues.orders.send({ n: 1 })
    const [delivery] = await mill.queues.orders.receive()
    const carrier = delivery?.traceContext
    const sender = propagation.extract(ROOT_CONTEXT, carrier)
    await context.with(sender, () => within('handled', async () => delivery?.acknowledge()))
    assert.equal(span('handled').parentSpanContext?.spanId, idOf(span(`send ${orders}`)))
    assert.equal(traceIds().size, 2)
  })

  test('makes no span if nothing was there', async () => {
    const { mill } = await openScene(app)
    assert.deepEqual(await mill.queues.orders.receive({ wait: '0s' }), [])
    assert.deepEqual(names(), [])
  })

  test('shows a lease that had ended', async () => {
    const { mill, clock } = await openScene(app)
    await mill.queues.orders.send({ n: 1 })
    const [delivery] = await mill.queues.orders.receive({ visibility: '1s' })
    await clock.advance(2_000)
    assert.equal((await delivery?.retry())?.status, 'lapsed')
    assert.equal(span(`settle ${orders}`).attributes['error.type'], 'lease_lapsed')
  })
})

describe('running a handler', () => {
  test('makes a consumer span under the sender, linked to it, and settles within', async () => {
    const { mill, clock } = await openScene(app)
    const { id } = await mill.jobs.enqueue('mail', 'SEND', { to: 'a' })
    const handle = {
      SEND: () => within('smtp', async () => ({ ok: true })),
      orders: () => undefined,
    }
    await withTime(clock, mill.worker({ poll: ['mail', 'orders'], handle }).drain())
    assert.equal(tree(), `send ${mail}\n  process ${mail}\n    settle ${mail}\n    smtp`)
    const ran = span(`process ${mail}`)
    assert.equal(ran.kind, SpanKind.CONSUMER)
    assert.equal(ran.status.code, SpanStatusCode.UNSET)
    assert.equal(ran.parentSpanContext?.isRemote, true)
    assert.deepEqual(
      ran.links.map(({ context }) => context.spanId),
      [idOf(span(`send ${mail}`))],
    )
    assert.deepEqual(attributesOf(ran), {
      'messaging.message.id': id,
      'millrace.attempt': 1,
      'millrace.job.id': id,
      'millrace.job.type': 'SEND',
      'millrace.outcome': 'completed',
    })
    assert.deepEqual(attributesOf(span(`settle ${mail}`)), { 'millrace.outcome': 'acknowledge' })
  })

  test('shows each failed attempt without secrets, in the trace of the job', async () => {
    const { mill, clock } = await openScene(app)
    await mill.jobs.enqueue('mail', 'SEND', { to: 'a', token: 'tippy-top-secret' })
    const handle = {
      SEND: ({ token }: { token?: string | undefined }) => {
        throw new RangeError(`refused ${token}`)
      },
    }
    const worker = mill.worker({ poll: ['mail'], handle })
    await withTime(clock, worker.drain())
    await clock.advance(2_000)
    await withTime(clock, worker.drain())
    const attempts = spans(`process ${mail}`)
    assert.deepEqual(
      attempts.map(({ attributes, status }) => [
        attributes['millrace.attempt'],
        attributes['millrace.outcome'],
        attributes['error.type'],
        status,
      ]),
      [
        [1, 'retried', 'RangeError', { code: 2, message: 'RangeError: refused [hidden]' }],
        [2, 'failed', 'RangeError', { code: 2, message: 'RangeError: refused [hidden]' }],
      ],
    )
    const [event] = attempts[0]?.events ?? []
    assert.equal(event?.name, 'exception')
    assert.equal(traceIds().size, 1)
    assert.ok(
      !JSON.stringify(spans().map(({ attributes, events }) => [attributes, events])).includes(
        'tippy',
      ),
    )
  })

  test('shows a result that does not fit, and a body that does not', async () => {
    const { mill, clock, backend } = await openScene(app)
    await mill.jobs.enqueue('mail', 'SEND', { to: 'a' }, { attempts: 1 })
    await backend.send({ queue: orders, messages: [{ body: '"no order"' }] })
    const handle = { SEND: () => ({ ok: 'yes' as unknown as boolean }), orders: () => undefined }
    await withTime(clock, mill.worker({ poll: ['mail', 'orders'], handle }).drain())
    const result = span(`process ${mail}`)
    assert.equal(result.attributes['error.type'], 'invalid_message')
    assert.equal(result.attributes['millrace.outcome'], 'failed')
    const body = span(`process ${orders}`)
    assert.equal(body.attributes['millrace.outcome'], 'refused')
    assert.equal(body.status.code, SpanStatusCode.ERROR)
    assert.equal(body.parentSpanContext, undefined)
  })

  test('begins a new trace for a message without a context, in whatever span the worker starts', async () => {
    const { mill, clock, backend } = await openScene(app)
    await backend.send({ queue: orders, messages: [{ body: '{"n":1}' }, { body: '{"n":2}' }] })
    await within('start-up', () => {
      const worker = mill.worker({
        poll: ['orders'],
        handle: { orders: () => undefined },
        concurrency: 1,
      })
      return withTime(clock, worker.drain())
    })
    const ran = spans(`process ${orders}`)
    assert.equal(ran.length, 2)
    for (const one of ran) assert.equal(one.parentSpanContext, undefined)
    assert.equal(traceIds().size, 3)
  })

  test('retries a failed job in the trace of the caller', async () => {
    const { mill, clock } = await openScene(app)
    const { id } = await mill.jobs.enqueue('mail', 'SEND', { to: 'a' }, { attempts: 1 })
    let fails = true
    const handle = {
      SEND: () => {
        if (fails) throw new Error('down')
        return { ok: true }
      },
    }
    const worker = mill.worker({ poll: ['mail'], handle })
    await withTime(clock, worker.drain())
    fails = false
    await within('operator', () => mill.jobs.retry(id))
    await withTime(clock, worker.drain())
    const [, again] = spans(`process ${mail}`)
    assert.equal(again?.parentSpanContext?.spanId, idOf(span('operator')))
  })

  test('carries baggage to the handler, and to what it emits', async () => {
    const { mill, clock } = await openScene(app)
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })
    await context.with(propagation.setBaggage(context.active(), baggage), () =>
      mill.queues.orders.send({ n: 1 }),
    )
    const seen: (string | undefined)[] = []
    const read = (): number => seen.push(propagation.getActiveBaggage()?.getEntry('tenant')?.value)
    const worker = mill.worker({
      poll: ['orders', 'mail'],
      handle: {
        orders: (_, handling) => {
          read()
          handling.enqueue('mail', 'SEND', { to: 'a' })
        },
        SEND: () => {
          read()
          return { ok: true }
        },
      },
    })
    await withTime(clock, worker.drain())
    assert.deepEqual(seen, ['acme', 'acme'])
  })
})

describe('log lines', () => {
  test('name the span in which they are written', async () => {
    const { mill, clock, lines } = await openScene(app)
    await within('request', () => mill.jobs.enqueue('mail', 'SEND', { to: 'a' }))
    const handle = {
      SEND: (_: unknown, handling: { log: { info(fields: object, text: string): void } }) =>
        within('smtp', async () => {
          handling.log.info({}, 'sent')
          return { ok: true }
        }),
    }
    await withTime(clock, mill.worker({ poll: ['mail'], handle }).drain())
    const idsOf = (message: string): unknown => {
      const { fields } = lines.find((line: LogLine) => line.message === message) ?? {}
      return fields && [fields['trace_id'], fields['span_id']]
    }
    const trace = span('request').spanContext().traceId
    assert.deepEqual(idsOf('job enqueued'), [trace, idOf(span('request'))])
    assert.deepEqual(idsOf('job started'), [trace, idOf(span(`process ${mail}`))])
    assert.deepEqual(idsOf('sent'), [trace, idOf(span('smtp'))])
    assert.deepEqual(idsOf('job completed'), [trace, idOf(span(`process ${mail}`))])
  })
})

describe('the option traces', () => {
  test('turns them off', async () => {
    const { mill, clock } = await openScene(app, { traces: false })
    await mill.queues.orders.send({ n: 1 })
    const worker = mill.worker({ poll: ['orders'], handle: { orders: () => undefined } })
    await withTime(clock, worker.drain())
    assert.deepEqual(names(), [])
  })

  test('takes a provider of its own', async () => {
    const exporter = new InMemorySpanExporter()
    const spanProcessors = [new SimpleSpanProcessor(exporter)]
    const { mill } = await openScene(app, { traces: new BasicTracerProvider({ spanProcessors }) })
    await mill.queues.orders.send({ n: 1 })
    assert.equal(exporter.getFinishedSpans().length, 1)
    assert.deepEqual(names(), [])
  })

  test('passes on a context that is not sampled', async () => {
    const exporter = new InMemorySpanExporter()
    const provider = new NodeTracerProvider({
      sampler: { shouldSample: () => ({ decision: 0 }), toString: () => 'never' },
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    })
    const { mill, backend } = await openScene(app, { traces: provider })
    await mill.queues.orders.send({ n: 1 })
    const [delivery] = await backend.receive({ queue: orders, max: 1 })
    assert.match(delivery?.systemAttributes['traceparent'] ?? '', /-00$/)
    assert.deepEqual(exporter.getFinishedSpans(), [])
  })

  test.each(['yes', 1, {}, null])('refuses %o', async (traces) => {
    const opened = open(app, { traces: traces as unknown as boolean, log: collectingLogger([]) })
    await assert.rejects(opened, {
      code: 'invalid_argument',
      message: /^traces: got .*, expected true, false or a tracer provider$/,
    })
  })
})
