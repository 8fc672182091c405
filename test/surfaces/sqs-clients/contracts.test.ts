/**
 * Contracts on the wire: a server that knows an app refuses messages that break the contract of a
 * declared queue, and never hands one out that another program has put there.
 */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { z } from 'zod'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { defineApp, fifo, jobs, open, queue } from '../../../src/index.ts'
import { type RunningServer, serve } from '../../../src/server.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import {
  attributesOf,
  clientKinds,
  type NewQueue,
  newQueue,
  receive,
  receiveBodies,
  send,
} from './queue-scene.ts'
import { refusalOf, type SqsClient } from './sqs-client.ts'

const Order = z.object({ id: z.string(), boxes: z.number().int().positive() })

const shop = defineApp('shop', {
  queues: {
    orders: queue({ schema: Order, deadLetter: { after: 3 }, visibilityTimeout: '1h' }),
    steps: fifo({ schema: Order, deduplication: 'content', deadLetter: {} }),
    notes: queue({ noPersonalData: true }),
    strict: queue({ schema: Order, visibilityTimeout: '1h' }),
    loose: queue({ schema: Order, checkOnWire: false }),
    free: queue(),
    prices: queue({ schema: z.record(z.string(), z.number()) }),
    work: jobs({ types: { PACK: z.object({ order: z.string() }) }, deadLetter: {} }),
  },
})

const fits = (id: string): string => JSON.stringify({ id, boxes: 2 })
const broken = '{"id":"o-1","boxes":"a secret text"}'
const violation = 'message.boxes: got a string, expected number'

let folder: TemporaryFolder
let server: RunningServer
/** Another program on the store, which does not know the app. */
let other: Backend
const warnings: string[] = []

beforeAll(async () => {
  folder = await temporaryFolder('contracts')
  const warn = (fields: object, message: string): void => {
    warnings.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log = { debug: () => {}, info: () => {}, warn, error: warn }
  const data = folder.file('data')
  server = await serve({ app: shop, port: 0, data, cooldowns: false, log })
  other = await openSqlite({ file: folder.file('data/millrace.db') })
})
afterAll(async () => {
  await other.close()
  await server.stop()
  await folder.remove()
})

describe.each(clientKinds)('a server that knows the app, with $name', (kind) => {
  let client: SqsClient
  beforeAll(() => {
    client = kind.open({ endpoint: server.url })
  })
  afterAll(() => client.close())

  async function declared(name: keyof typeof shop.queues): Promise<NewQueue> {
    const QueueName = `shop-dev-${name}${name === 'steps' ? '.fifo' : ''}`
    const { QueueUrl: url = '' } = await client.call('GetQueueUrl', { QueueName })
    await client.call('PurgeQueue', { QueueUrl: url })
    return { url, name: QueueName, arn: `arn:aws:sqs:us-east-1:000000000000:${QueueName}` }
  }
  const bare = async (queue: NewQueue): Promise<boolean> =>
    (await attributesOf(client, queue))['ApproximateNumberOfMessages'] === '0'

  test('takes what fits the contract', async () => {
    const queue = await declared('orders')
    await send(client, queue, fits('o-1'))
    assert.deepEqual(await receiveBodies(client, queue), [fits('o-1')])
  })

  test('refuses a message that breaks it, names the violation, and stores nothing', async () => {
    const queue = await declared('orders')
    const refusal = await refusalOf(send(client, queue, broken))
    assert.equal(refusal.code, 'InvalidMessageContents')
    assert.equal(refusal.status, 400)
    assert.ok(refusal.message.includes(violation), refusal.message)
    assert.ok(!refusal.message.includes('secret'), refusal.message)
    assert.ok(await bare(queue))
    const text = await refusalOf(send(client, queue, 'two boxes of tea'))
    assert.ok(text.message.includes('message: got a body that is not JSON, expected JSON'))
  })

  test('says no more about a broken message than an answer can hold', async () => {
    const queue = await declared('prices')
    const keys = ['\u0001', ...Array.from({ length: 1_000 }, (_, index) => `key${index}`)]
    const prices = Object.fromEntries(keys.map((key) => [key, 'none']))
    const { code, message } = await refusalOf(send(client, queue, JSON.stringify(prices)))
    assert.equal(code, 'InvalidMessageContents')
    assert.ok(message.includes('message.\uFFFD: got a string, expected number'), message)
    assert.ok(message.length < 2_100 && message.endsWith('…'))
  })

  test('refuses personal data where the queue takes none', async () => {
    const queue = await declared('notes')
    const refusal = await refusalOf(send(client, queue, '{"contact":"ann@example.org"}'))
    assert.equal(refusal.code, 'InvalidMessageContents')
    assert.ok(refusal.message.includes('message.contact: got a string, expected no e-mail'))
    assert.ok(!refusal.message.includes('ann@'))
    assert.ok(await bare(queue))
  })

  test('refuses only the entries of a batch that break it', async () => {
    const queue = await declared('orders')
    const { Successful = [], Failed = [] } = await client.call('SendMessageBatch', {
      QueueUrl: queue.url,
      Entries: [
        { Id: 'a', MessageBody: fits('a') },
        { Id: 'b', MessageBody: broken },
        { Id: 'c', MessageBody: fits('c') },
      ],
    })
    assert.deepEqual(
      Successful.map(({ Id }) => Id),
      ['a', 'c'],
    )
    const [failed] = Failed
    assert.deepEqual([Failed.length, failed?.Id, failed?.SenderFault], [1, 'b', true])
    assert.equal(failed?.Code, 'InvalidMessageContents')
    assert.ok(failed?.Message?.includes(violation))
    const bodies = await receiveBodies(client, queue)
    assert.deepEqual(bodies.toSorted(), [fits('a'), fits('c')])
  })

  test('refuses a whole batch of a FIFO queue, whose entries keep their order', async () => {
    const queue = await declared('steps')
    const Entries = [fits('a'), broken].map((MessageBody, index) => {
      return { Id: `${index}`, MessageBody, MessageGroupId: 'g' }
    })
    const call = client.call('SendMessageBatch', { QueueUrl: queue.url, Entries })
    const refusal = await refusalOf(call)
    assert.equal(refusal.code, 'InvalidMessageContents')
    assert.ok(refusal.message.includes(violation))
    assert.ok(await bare(queue))
  })

  test('refuses a plain message in a jobs queue', async () => {
    const queue = await declared('work')
    const refusal = await refusalOf(send(client, queue, '{"order":"o-1"}'))
    assert.equal(refusal.code, 'InvalidParameterValue')
    assert.match(refusal.message, /millrace\.jobType: got nothing, expected one of PACK, because/)
    assert.ok(await bare(queue))
  })

  test('leaves alone what no contract is about', async () => {
    for (const queue of [
      await declared('loose'),
      await declared('free'),
      await newQueue(client),
      await newQueue(client),
    ]) {
      await send(client, queue, 'plain text')
      assert.deepEqual(await receiveBodies(client, queue), ['plain text'])
    }
  })

  test('dead-letters what another program has sent, before a receiver sees it', async () => {
    const queue = await declared('orders')
    const messages = [{ body: broken }, { body: fits('o-2') }, { body: 'no JSON' }]
    await other.send({ queue: queue.name, messages })
    assert.deepEqual(await receiveBodies(client, queue), [fits('o-2')])
    // The client waits on, although the first message was not for it.
    await other.send({ queue: queue.name, messages: [{ body: broken }] })
    const waiting = receiveBodies(client, queue, { WaitTimeSeconds: 20 })
    await until(async () => (await bare(queue)) && (await inFlight(queue)) === '1')
    await other.send({ queue: queue.name, messages: [{ body: fits('o-3') }] })
    assert.deepEqual(await waiting, [fits('o-3')])
    const dead = { ...queue, url: `${queue.url}-dlq` }
    const letters = await receive(client, dead, { MaxNumberOfMessages: 10, VisibilityTimeout: 0 })
    const bodies = letters.map(({ Body }) => Body)
    assert.ok(bodies.includes(broken) && bodies.includes('no JSON'))
    assert.ok(warnings.some((line) => line.includes('message refused') && line.includes(violation)))
    assert.ok(!warnings.some((line) => line.includes('secret')))
    await client.call('PurgeQueue', { QueueUrl: dead.url })
  })
  const inFlight = async (queue: NewQueue): Promise<string | undefined> =>
    (await attributesOf(client, queue))['ApproximateNumberOfMessagesNotVisible']

  test('keeps back what it cannot dead-letter', async () => {
    const queue = await declared('strict')
    await other.send({ queue: queue.name, messages: [{ body: broken }] })
    assert.deepEqual(await receive(client, queue), [])
    assert.equal(await inFlight(queue), '1')
  })

  test('dead-letters jobs whose payload breaks the contract of their type', async () => {
    const queue = await declared('work')
    const lax = defineApp('shop', {
      queues: { work: jobs({ types: { PACK: z.unknown() }, deadLetter: {} }) },
    })
    const mill = await open(lax, { backend: other })
    const good = await mill.jobs.enqueue('work', 'PACK', { order: 'o-1' })
    const bad = await mill.jobs.enqueue('work', 'PACK', { order: 7 })
    const received = await receive(client, queue, { MaxNumberOfMessages: 10 })
    assert.deepEqual(
      received.map(({ MessageId }) => MessageId),
      [good.id],
    )
    const job = await mill.jobs.get(bad.id)
    assert.equal(job?.status, 'failed')
    assert.match(String(job?.error), /message\.order: got a number, expected string/)
    await mill.close()
  })
})

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}
