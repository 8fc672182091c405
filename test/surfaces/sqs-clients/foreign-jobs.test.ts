/**
 * Jobs that clients of SQS send and receive: a type attribute makes a message a job, and a receiver gets what
 * it needs to run the job and to report on it.
 */
import assert from 'node:assert/strict'
import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { z } from 'zod'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { defineApp, jobs, type Mill, open, queue } from '../../../src/index.ts'
import { type RunningServer, serve } from '../../../src/server.ts'
import { digestOfAttributes, digestOfBody } from '../../../src/sqs/message-digest.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { awsCommand } from './aws-command.ts'
import {
  assertRefused,
  clientKinds,
  type NewQueue,
  newFifoQueue,
  newQueue,
  receive,
  receiveOne,
  send,
} from './queue-scene.ts'
import type { SqsClient } from './sqs-client.ts'

const Page = z.object({ page: z.number() })

const academy = defineApp('academy', {
  queues: {
    basic: jobs({
      types: { OCR: { schema: Page, attempts: 5, expiresAfter: '2h' }, OMR: Page },
      attempts: 2,
      deadLetter: {},
      visibilityTimeout: '1h',
    }),
    lite: jobs({ types: { OCR: Page, OMR: Page } }),
    loose: jobs({ types: { OCR: Page }, checkOnWire: false }),
    video: queue(),
  },
  tiers: { lite: { queue: 'lite', allows: ['OCR'] } },
})

let folder: TemporaryFolder
let server: RunningServer
let backend: Backend
let mill: Mill<typeof academy>

beforeAll(async () => {
  folder = await temporaryFolder('foreign-jobs')
  const data = folder.file('data')
  server = await serve({ app: academy, port: 0, data, cooldowns: false })
  backend = await openSqlite({ file: folder.file('data/millrace.db') })
  mill = await open(academy, { backend })
})
afterAll(async () => {
  await mill.close()
  await backend.close()
  await server.stop()
  await folder.remove()
})

type Attributes = Record<string, MessageAttributeValue>

const text = (StringValue: string): MessageAttributeValue => ({ DataType: 'String', StringValue })
const number = (StringValue: string): MessageAttributeValue => ({ DataType: 'Number', StringValue })
const typed = (type: string, more: Attributes = {}): { MessageAttributes: Attributes } => ({
  MessageAttributes: { 'millrace.jobType': text(type), ...more },
})

/** The digest that a client computes from what it sent or received. */
function digest(attributes: Attributes = {}): string | undefined {
  const entries = Object.entries(attributes).map(([name, attribute]) => {
    const { DataType: type = '', StringValue, BinaryValue } = attribute
    return [name, { type, value: StringValue ?? new Uint8Array(BinaryValue ?? []) }] as const
  })
  return digestOfAttributes(Object.fromEntries(entries))
}

function values({ MessageAttributes = {} }: Message): Record<string, string | undefined> {
  const entries = Object.entries(MessageAttributes)
  return Object.fromEntries(entries.map(([name, { StringValue }]) => [name, StringValue]))
}

const body = '{ "page": 7 }'

describe.each([...clientKinds, awsCommand])('jobs on the wire, with $name', (kind) => {
  let client: SqsClient
  beforeAll(() => {
    client = kind.open({ endpoint: server.url })
  })
  afterAll(() => client.close())

  async function declared(name: keyof typeof academy.queues): Promise<NewQueue> {
    const QueueName = `academy-dev-${name}`
    const { QueueUrl: url = '' } = await client.call('GetQueueUrl', { QueueName })
    await client.call('PurgeQueue', { QueueUrl: url })
    return { url, name: QueueName, arn: '' }
  }
  const isEmpty = async (queue: NewQueue): Promise<boolean> => {
    const { ready, leased, delayed } = await backend.queueStatistics({ queue: queue.name })
    return ready + leased + delayed === 0
  }

  test('a type attribute makes a message a job with the settings of its type', async () => {
    const queue = await declared('basic')
    const more = { 'millrace.owner': text('ann'), source: text('shop') }
    const attributes = typed('OCR', more)
    const sent = await send(client, queue, body, attributes)
    assert.equal(sent.MD5OfMessageBody, digestOfBody(body))
    assert.equal(sent.MD5OfMessageAttributes, digest(attributes.MessageAttributes))
    const job = await mill.jobs.get(sent.MessageId ?? '')
    assert.deepEqual(
      [job?.status, job?.type, job?.owner, job?.payload, job?.maxAttempts],
      ['pending', 'OCR', 'ann', { page: 7 }, 5],
    )
    assert.equal(Number(job?.expiresAt) - Number(job?.createdAt), 7_200_000)
    const message = await receiveOne(client, queue, { MessageAttributeNames: ['All'] })
    assert.equal(message.Body, body)
    assert.equal(values(message)['source'], 'shop')
  })

  test('a received job has its id, type, attempt, attempts and deadline', async () => {
    const queue = await declared('basic')
    const { id } = await mill.jobs.enqueue('basic', 'OMR', { page: 1 })
    const before = Date.now()
    const message = await receiveOne(client, queue, { MessageAttributeNames: ['millrace.*'] })
    const { 'millrace.deadline': deadline, ...facts } = values(message)
    assert.deepEqual(facts, {
      'millrace.jobId': id,
      'millrace.jobType': 'OMR',
      'millrace.attempt': '1',
      'millrace.maxAttempts': '2',
    })
    assert.ok(Math.abs(Number(deadline) - before - 3_600_000) < 60_000, deadline)
    assert.equal(message.MD5OfMessageAttributes, digest(message.MessageAttributes))
  })

  test('they come beside ten attributes of the sender, and only when asked for', async () => {
    const queue = await declared('basic')
    const ten = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`own.${at}`, text('v')]))
    await send(client, queue, body, typed('OCR', ten))
    const visible = { VisibilityTimeout: 0 }
    const asked = async (...names: string[]): Promise<readonly string[]> => {
      const message = await receiveOne(client, queue, { MessageAttributeNames: names, ...visible })
      assert.equal(message.MD5OfMessageAttributes, digest(message.MessageAttributes))
      return Object.keys(values(message)).sort()
    }
    assert.deepEqual(await asked('own.3'), ['own.3'])
    assert.deepEqual(await asked('own.3', 'millrace.jobId'), ['millrace.jobId', 'own.3'])
    assert.equal((await asked('All')).length, 15)
    const [bare] = await receive(client, queue, visible)
    assert.equal(bare?.MessageAttributes, undefined)
  })

  test('an idempotency key finds the first job, and refuses another payload', async () => {
    const queue = await declared('basic')
    const key = typed('OCR', { 'millrace.idempotencyKey': text(`key-${kind.name}`) })
    const first = await send(client, queue, body, key)
    const again = await send(client, queue, body, key)
    assert.equal(again.MessageId, first.MessageId)
    await assertRefused(send(client, queue, '{"page":8}', key), {
      code: 'InvalidParameterValue',
      message: /idempotency key was already used/,
    })
    assert.equal((await receive(client, queue)).length, 1)
  })

  test('what breaks the contract, or has no type or an unknown one, is refused', async () => {
    const queue = await declared('basic')
    const invalid = { code: 'InvalidParameterValue' }
    const contents = { code: 'InvalidMessageContents' }
    await assertRefused(send(client, queue, body), {
      ...invalid,
      message: /millrace\.jobType: got nothing, expected one of OCR, OMR/,
    })
    await assertRefused(send(client, queue, body, typed('OCS')), {
      ...invalid,
      message: /millrace\.jobType: got 'OCS', expected one of OCR, OMR; did you mean 'OCR'\?/,
    })
    await assertRefused(send(client, queue, '{"page":"a secret"}', typed('OCR')), {
      ...contents,
      message: /message\.page: got a string, expected number/,
    })
    await assertRefused(send(client, queue, 'page 7', typed('OCR')), {
      ...contents,
      message: /got a body that is not JSON/,
    })
    await assertRefused(send(client, queue, '{"page":1,"__proto__":{}}', typed('OCR')), contents)
    for (const [more, message] of [
      [{ 'millrace.maxAttempts': number('0') }, /millrace\.maxAttempts: got 0/],
      [{ 'millrace.maxAttempts': number('1.5') }, /'millrace\.maxAttempts' must be a whole number/],
      [{ 'millrace.owner': number('5') }, /'millrace\.owner' must be String/],
      [{ 'millrace.owner': text('x'.repeat(257)) }, /millrace\.owner/],
      [{ 'millrace.jobId': text('x') }, /'millrace\.jobId'\. Names beginning with/],
    ] as const) {
      await assertRefused(send(client, queue, body, typed('OCR', more)), { ...invalid, message })
    }
    const ownerOnly = { MessageAttributes: { 'millrace.owner': text('ann') } }
    await assertRefused(send(client, queue, body, ownerOnly), {
      ...invalid,
      message: "The message attribute 'millrace.owner' needs the attribute 'millrace.jobType'.",
    })
    assert.ok(await isEmpty(queue))
  })

  test('a queue without job types takes no job, and a tier only its types', async () => {
    const video = await declared('video')
    await assertRefused(send(client, video, body, typed('OCR')), {
      code: 'InvalidParameterValue',
      message: /millrace\.jobType: got 'OCR', expected none/,
    })
    const lite = await declared('lite')
    await assertRefused(send(client, lite, body, typed('OMR')), {
      code: 'InvalidParameterValue',
      message: /The tier 'lite' runs OCR, but not 'OMR'/,
    })
    const { MessageId = '' } = await send(client, lite, body, typed('OCR'))
    assert.equal((await mill.jobs.get(MessageId))?.tier, 'lite')
    assert.ok(await isEmpty(video))
  })

  test('without checks on the wire, a queue of jobs takes any JSON', async () => {
    const queue = await declared('loose')
    const { MessageId = '' } = await send(client, queue, '"any"', typed('OCR'))
    assert.equal((await mill.jobs.get(MessageId))?.maxAttempts, 3)
    await send(client, queue, 'plain')
  })

  test('only the bad entries of a batch fail', async () => {
    const queue = await declared('basic')
    const { Successful = [], Failed = [] } = await client.call('SendMessageBatch', {
      QueueUrl: queue.url,
      Entries: [
        { Id: 'a', MessageBody: body, ...typed('OCR') },
        { Id: 'b', MessageBody: body },
        { Id: 'c', MessageBody: '{}', ...typed('OCR') },
        { Id: 'd', MessageBody: body, DelaySeconds: 60, ...typed('OMR') },
      ],
    })
    assert.deepEqual(
      Failed.map(({ Id, Code, SenderFault }) => [Id, Code, SenderFault]),
      [
        ['b', 'InvalidParameterValue', true],
        ['c', 'InvalidMessageContents', true],
      ],
    )
    const found = await Promise.all(
      Successful.map(({ MessageId = '' }) => mill.jobs.get(MessageId)),
    )
    assert.deepEqual(
      found.map((job) => job?.type),
      ['OCR', 'OMR'],
    )
    const [first] = Successful
    assert.equal(first?.MD5OfMessageAttributes, digest(typed('OCR').MessageAttributes))
    const { ready, delayed } = await backend.queueStatistics({ queue: queue.name })
    assert.deepEqual([ready, delayed], [1, 1])
  })

  test('a queue that no app declares takes jobs of any type, beside messages', async () => {
    const queue = await newQueue(client)
    const Entries = [
      { Id: 'a', MessageBody: '{}', ...typed('ANY') },
      { Id: 'b', MessageBody: 'plain' },
      { Id: 'c', MessageBody: '{}', MessageGroupId: 'tenant', ...typed('ANY') },
    ]
    const { Successful = [] } = await client.call('SendMessageBatch', {
      QueueUrl: queue.url,
      Entries,
    })
    assert.equal(Successful.length, 3)
    const records = await Promise.all(
      Successful.map(async ({ MessageId: id = '' }) => backend.jobs?.read({ id })),
    )
    assert.deepEqual(
      records.map((record) => record && [record.type, record.maxAttempts, record.tenant]),
      [['ANY', 3, null], undefined, ['ANY', 3, 'tenant']],
    )
    await assertRefused(send(client, queue, 'no JSON', typed('ANY')), {
      code: 'InvalidMessageContents',
    })
  })

  test('jobs of a FIFO queue keep the order of their group', async () => {
    const queue = await newFifoQueue(client)
    const entry = (Id: string, more: object = {}) => ({
      ...{ Id, MessageBody: `"${Id}"`, MessageGroupId: 'g' },
      ...typed('STEP'),
      ...more,
    })
    const batch = (...Entries: ReturnType<typeof entry>[]) =>
      client.call('SendMessageBatch', { QueueUrl: queue.url, Entries })
    const { Successful = [] } = await batch(entry('a'), entry('b'))
    assert.equal(Successful.length, 2)
    const again = await batch(entry('a'))
    assert.equal(again.Successful?.[0]?.MessageId, Successful[0]?.MessageId)
    await assertRefused(batch(entry('c'), entry('d', { MessageAttributes: {} })), {
      code: 'InvalidParameterValue',
      message: /must have only jobs, or only messages that are not jobs/,
    })
    const names = { MessageAttributeNames: ['millrace.jobId'] }
    const received = await receive(client, queue, names)
    assert.deepEqual(
      received.map((message) => [message.Body, values(message)['millrace.jobId']]),
      [
        ['"a"', Successful[0]?.MessageId],
        ['"b"', Successful[1]?.MessageId],
      ],
    )
  })
})
