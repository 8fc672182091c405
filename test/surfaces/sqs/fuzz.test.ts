import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import {
  type FuzzScene,
  form,
  formType,
  fuzzScene,
  jsonCall,
  jsonText,
  type Nonsense,
} from './fuzz-scene.ts'
import { jsonType } from './raw-wire.ts'

/** Tells everything in turn and looks whether the server has survived. */
async function tellAll(scene: FuzzScene, nonsense: readonly Nonsense[]): Promise<void> {
  for (const one of nonsense) await scene.tell(one)
  await scene.assertStillServes()
}

async function refusals(scene: FuzzScene, nonsense: readonly Nonsense[]): Promise<Set<string>> {
  const found = new Set<string>()
  for (const one of nonsense) found.add(await scene.refusalOf(one))
  await scene.assertStillServes()
  return found
}

const anyBytes = fc.uint8Array({ maxLength: 400 })
const anyType = fc.constantFrom(
  jsonType,
  formType,
  'application/x-amz-json-1.1',
  'application/json',
  'text/xml',
  'multipart/form-data; boundary=x',
  `${formType}; charset=utf-16`,
  '',
  ';',
)

describe('bytes at random', () => {
  test('are answered, whatever they are said to be', async () => {
    const scene = await fuzzScene()
    const nonsense = fc.record({
      method: fc.constantFrom('POST', 'GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
      path: fc.constantFrom('/000000000000/nonsense', '/000000000000/nonsense?Action=ListQueues'),
      headers: fc.record({
        'content-type': anyType,
        accept: fc.constantFrom('*/*', 'application/json'),
      }),
      body: anyBytes,
      isChunked: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(nonsense, async (one) => void (await scene.tell(one))),
      { numRuns: 500 },
    )
    await scene.assertStillServes()
  })

  test('are no JSON and no form', async () => {
    const scene = await fuzzScene()
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 400 }).filter((one) => one[0] !== 0x7b)
    await fc.assert(
      fc.asyncProperty(bytes, async (body) => {
        const refusal = await scene.refusalOf(jsonText('SendMessage', body))
        assert.equal(refusal, 'SerializationException')
        await scene.refusalOf(form(body))
      }),
      { numRuns: 300 },
    )
    await scene.assertStillServes()
  })

  test('in the middle of a sensible request are answered', async () => {
    const scene = await fuzzScene()
    const sensible = sensibleRequests(scene)
    const change = fc.record({
      which: fc.nat(sensible.length - 1),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      remove: fc.nat(20),
      insert: fc.oneof(
        anyBytes,
        fc
          .constantFrom('%', '&', '=', '.', '"', '\\', '{', '[', '\0', '<')
          .map((text) => Buffer.from(text)),
      ),
    })
    await fc.assert(
      fc.asyncProperty(change, async ({ which, at, remove, insert }) => {
        const one = sensible[which] ?? {}
        const bytes = Buffer.from(one.body ?? '')
        const cut = Math.floor(at * bytes.length)
        const body = Buffer.concat([bytes.subarray(0, cut), insert, bytes.subarray(cut + remove)])
        await scene.tell({ ...one, body })
      }),
      { numRuns: 1_000 },
    )
    await scene.assertStillServes()
  })
})

function sensibleRequests({ queueUrl, fifoUrl }: FuzzScene): readonly Nonsense[] {
  const MessageAttributes = { tenant: { DataType: 'String', StringValue: 'north' } }
  const Entries = [
    { Id: 'a', MessageBody: 'x', MessageAttributes },
    { Id: 'b', MessageBody: 'ä', DelaySeconds: 1 },
  ]
  const RedrivePolicy = `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:nonsense","maxReceiveCount":3}`
  const url = encodeURIComponent(queueUrl)
  return [
    jsonCall('SendMessage', { QueueUrl: queueUrl, MessageBody: 'x', MessageAttributes }),
    jsonCall('SendMessageBatch', { QueueUrl: queueUrl, Entries }),
    jsonCall('SendMessage', {
      QueueUrl: fifoUrl,
      MessageBody: 'x',
      MessageGroupId: 'g',
      MessageDeduplicationId: 'd',
    }),
    jsonCall('SetQueueAttributes', {
      QueueUrl: queueUrl,
      Attributes: { VisibilityTimeout: '30', RedrivePolicy },
    }),
    jsonCall('ReceiveMessage', {
      QueueUrl: queueUrl,
      MaxNumberOfMessages: 10,
      AttributeNames: ['All'],
    }),
    jsonCall('CreateQueue', { QueueName: 'other', tags: { a: 'b' } }),
    form(
      `Action=SendMessage&QueueUrl=${url}&MessageBody=x%20y&MessageAttribute.1.Name=a&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value.StringValue=b`,
    ),
    form(
      `Action=SendMessageBatch&QueueUrl=${url}&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageBody=b`,
    ),
    form(`Action=GetQueueAttributes&QueueUrl=${url}&AttributeName.1=All&Version=2012-11-05`),
    form('Action=CreateQueue&QueueName=another&Attribute.1.Name=DelaySeconds&Attribute.1.Value=5'),
  ]
}

describe('a request that was cut short', () => {
  test('is refused in JSON, wherever it was cut', async () => {
    const scene = await fuzzScene()
    const [whole = {}] = sensibleRequests(scene)
    const body = String(whole.body)
    const cuts = Array.from({ length: body.length - 1 }, (_, at) => body.slice(0, at + 1))
    const found = await refusals(
      scene,
      cuts.map((cut) => ({ ...whole, body: cut })),
    )
    assert.deepEqual(found, new Set(['SerializationException']))
  })

  test('is answered in Query, wherever it was cut', async () => {
    const scene = await fuzzScene()
    const queries = sensibleRequests(scene).slice(6)
    const cuts = queries.flatMap((whole) => {
      const body = String(whole.body)
      return Array.from({ length: body.length }, (_, at) => ({ ...whole, body: body.slice(0, at) }))
    })
    await tellAll(scene, cuts)
  })
})

describe('a request that is huge', () => {
  test('is refused beyond what a request may be', async () => {
    const scene = await fuzzScene()
    const body = Buffer.alloc(8 * 2 ** 20 + 1, 'x')
    const found = await refusals(scene, [
      jsonText('SendMessage', body),
      form(body),
      { ...jsonText('SendMessage', body), isChunked: true },
      { ...form(body), isChunked: true },
    ])
    assert.deepEqual(found, new Set(['RequestEntityTooLargeException', 'RequestEntityTooLarge']))
  })

  test('is refused for a body that no message may have', async () => {
    const scene = await fuzzScene()
    const MessageBody = 'x'.repeat(2 ** 20 + 1)
    const found = await refusals(scene, [
      jsonCall('SendMessage', { QueueUrl: scene.queueUrl, MessageBody }),
      form(`Action=SendMessage&QueueUrl=${scene.queueUrl}&MessageBody=${MessageBody}`),
    ])
    assert.deepEqual(found, new Set(['InvalidParameterValueException', 'InvalidParameterValue']))
  })

  test('is answered for very many parameters, members or entries', async () => {
    const scene = await fuzzScene()
    const many = Array.from({ length: 50_000 }, (_, at) => at)
    const Entries = many.map((at) => ({ Id: `i${at}`, MessageBody: 'x' }))
    const members = Object.fromEntries(many.map((at) => [`m${at}`, at]))
    const Attributes = Object.fromEntries(many.map((at) => [`a${at}`, 'x']))
    await tellAll(scene, [
      jsonCall('SendMessageBatch', { QueueUrl: scene.queueUrl, Entries }),
      jsonCall('ListQueues', members),
      jsonCall('CreateQueue', { QueueName: 'many', Attributes }),
      jsonCall('GetQueueAttributes', {
        QueueUrl: scene.queueUrl,
        AttributeNames: many.map((at) => `n${at}`),
      }),
      jsonCall('TagQueue', { QueueUrl: scene.queueUrl, Tags: Attributes }),
      form(`Action=ListQueues&${many.map((at) => `p${at}=1`).join('&')}`),
      form(`Action=ListQueues${'&'.repeat(100_000)}`),
      form(
        `Action=CreateQueue&QueueName=x&${many.map((at) => `Attribute.${at}.Name=a`).join('&')}`,
      ),
    ])
  })
})

describe('a request that is deep', () => {
  test.each([100, 10_000, 1_000_000])('by %i levels is answered', async (depth) => {
    const scene = await fuzzScene()
    const lists = '['.repeat(depth) + ']'.repeat(depth)
    const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    await tellAll(scene, [
      jsonText('SendMessage', lists),
      jsonText('SendMessage', '['.repeat(depth)),
      jsonText('SendMessage', objects),
      jsonText('SendMessage', `{"Unknown":${lists}}`),
      jsonText('SendMessageBatch', `{"Entries":${lists}}`),
      jsonText('CreateQueue', `{"QueueName":"x","Attributes":${objects}}`),
      jsonText('SendMessage', `{"MessageAttributes":${objects}}`),
      form(`Action=ListQueues&${'a.'.repeat(depth)}=1`),
      form(`Action=ListQueues&${'QueueNamePrefix.1.'.repeat(Math.min(depth, 100_000))}=1`),
    ])
  })
})
