/** Trace contexts of messages that cross the SQS endpoint, of functions, and of requests for jobs. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { open } from '../../src/app/open.ts'
import { defineApp, jobs, queue } from '../../src/index.ts'
import { serve } from '../../src/server.ts'
import { sqsRecord } from '../../src/worker/lambda/sqs-event.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { callApi } from '../surfaces/jobs-api/scene.ts'
import { clientKinds } from '../surfaces/sqs-clients/queue-scene.ts'
import type { SqsClient } from '../surfaces/sqs-clients/sqs-client.ts'
import { idOf, registerProvider, span, spans } from './trace-scene.ts'

registerProvider()

const app = defineApp('shop', {
  queues: {
    orders: queue({ schema: z.object({ n: z.number() }) }),
    mail: jobs({ types: { SEND: z.object({ to: z.string() }) } }),
  },
})

const traceId = '5759e988bd862e3fe1be46a994272793'
const spanId = '53995c3f42cd8ad8'
const traceparent = `00-${traceId}-${spanId}-01`
const header = `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=${spanId};Sampled=1`

interface Served {
  readonly url: string
  readonly mill: Awaited<ReturnType<typeof open<typeof app>>>
  readonly data: string
}

/** A server with the app, and the app opened a second time, as in a worker process. */
async function served(): Promise<Served> {
  const folder = await temporaryFolder('traced-wire')
  const server = await serve({ app, port: 0, data: folder.path })
  const mill = await open(app, { data: folder.path })
  onTestFinished(async () => {
    await mill.close()
    await server.stop()
    await folder.remove()
  })
  return { url: server.url, mill, data: folder.path }
}

const orders = 'shop-dev-orders'
const mail = 'shop-dev-mail'

describe.each(clientKinds)('with $name', (kind) => {
  function clientOf({ url }: Served): SqsClient {
    const client = kind.open({ endpoint: url })
    onTestFinished(() => client.close())
    return client
  }
  const urlOf = ({ url }: Served, name: string): string => `${url}/000000000000/${name}`

  test('a handler continues the traceparent, or the header, of a message', async () => {
    const scene = await served()
    const client = clientOf(scene)
    const QueueUrl = urlOf(scene, orders)
    const text = (StringValue: string): { DataType: string; StringValue: string } => ({
      DataType: 'String',
      StringValue,
    })
    await client.call('SendMessage', {
      QueueUrl,
      MessageBody: '{"n":1}',
      MessageAttributes: { traceparent: text(traceparent), tracestate: text('vendor=1') },
    })
    await client.call('SendMessage', {
      QueueUrl,
      MessageBody: '{"n":2}',
      MessageSystemAttributes: { AWSTraceHeader: text(header) },
    })
    const worker = scene.mill.worker({ poll: ['orders'], handle: { orders: () => undefined } })
    await worker.drain()
    const ran = spans(`process ${orders}`)
    assert.deepEqual(
      ran.map((one) => [one.spanContext().traceId, one.parentSpanContext?.spanId]),
      [
        [traceId, spanId],
        [traceId, spanId],
      ],
    )
    assert.deepEqual(
      ran.map(({ links }) => links.map(({ context }) => context.spanId)),
      [[spanId], [spanId]],
    )
    const states = ran.map((one) => one.spanContext().traceState?.serialize())
    assert.deepEqual(states.toSorted(), ['vendor=1', undefined])
  })

  test('a receiver gets the context of a message and of a job in both forms', async () => {
    const scene = await served()
    const client = clientOf(scene)
    await scene.mill.queues.orders.send(
      { n: 1 },
      { attributes: { own: { type: 'String', value: 'x' } } },
    )
    await scene.mill.jobs.enqueue('mail', 'SEND', { to: 'a' })
    for (const name of [orders, mail]) {
      const { Messages: [message] = [] } = await client.call('ReceiveMessage', {
        QueueUrl: urlOf(scene, name),
        MessageAttributeNames: ['All'],
        ...(client.protocol === 'json'
          ? { MessageSystemAttributeNames: ['AWSTraceHeader'] }
          : { AttributeNames: ['All'] }),
      })
      const sent = span(`send ${name}`).spanContext()
      assert.equal(
        message?.MessageAttributes?.['traceparent']?.StringValue,
        `00-${sent.traceId}-${sent.spanId}-01`,
      )
      assert.equal(
        message?.Attributes?.['AWSTraceHeader'],
        `Root=1-${sent.traceId.slice(0, 8)}-${sent.traceId.slice(8)};Parent=${sent.spanId};Sampled=1`,
      )
    }
  })
})

describe('a record of a function', () => {
  const home = { region: 'eu-west-1', account: '123456789012' }

  test('has the trace header and the traceparent', async () => {
    const { mill, data } = await served()
    await mill.queues.orders.send({ n: 1 })
    const sent = span(`send ${orders}`).spanContext()
    const { openSqlite } = await import('../../src/backends/sqlite/index.ts')
    const backend = await openSqlite({ file: `${data}/millrace.db` })
    const [delivery] = await backend.receive({ queue: orders, max: 1 })
    await backend.close()
    assert.ok(delivery)
    const record = sqsRecord(delivery, orders, home)
    assert.match(record.attributes['AWSTraceHeader'] ?? '', new RegExp(`Parent=${sent.spanId}`))
    assert.equal(
      record.messageAttributes['traceparent']?.stringValue,
      `00-${sent.traceId}-${sent.spanId}-01`,
    )
  })
})

describe('a request for a job', () => {
  test('continues the traceparent of the caller', async () => {
    const { url, mill } = await served()
    const body = { type: 'SEND', payload: { to: 'a' } }
    const headers = { traceparent }
    const { status, body: answer } = await callApi(url, '/jobs/mail', {
      method: 'POST',
      body,
      headers,
    })
    assert.equal(status, 202)
    const sent = span(`send ${mail}`)
    assert.equal(sent.parentSpanContext?.spanId, spanId)
    assert.equal((await mill.jobs.get(answer.job_id))?.traceId, traceId)
    await mill.worker({ poll: ['mail'], handle: { SEND: () => undefined } }).drain()
    const ran = span(`process ${mail}`)
    assert.equal(ran.spanContext().traceId, traceId)
    assert.equal(ran.parentSpanContext?.spanId, idOf(sent))
  })

  test('ignores a header that is not valid', async () => {
    const { url } = await served()
    const body = { type: 'SEND', payload: { to: 'a' } }
    const headers = { traceparent: '00-nothing' }
    assert.equal((await callApi(url, '/jobs/mail', { method: 'POST', body, headers })).status, 202)
    assert.equal(span(`send ${mail}`).parentSpanContext, undefined)
  })
})
