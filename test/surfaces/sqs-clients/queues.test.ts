/** Creating, finding, listing and deleting queues, through clients as people have them. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  assertRefused,
  attributesOf,
  clientKinds,
  freshName,
  groupFor,
  newFifoQueue,
  newQueue,
  newQueueOf,
  queueKinds,
  receive,
  send,
  simpleQueue,
} from './queue-scene.ts'
import { refusalOf } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-queues')

describe.concurrent.each(clientKinds)('queues, with $name', (kind) => {
  const open = () => server.client(kind)

  test('a queue is found by its name and listed by its URL', async () => {
    const client = open()
    for (const queueKind of queueKinds) {
      const { name, url } = await newQueueOf(queueKind, client)
      assert.equal(url, `${server.url}/000000000000/${name}`)
      assert.deepEqual(await client.call('GetQueueUrl', { QueueName: name }), { QueueUrl: url })
      const listed = await client.call('ListQueues', { QueueNamePrefix: name })
      assert.deepEqual(listed, { QueueUrls: [url] })
    }
  })

  test('a queue is found when its owner is named', async () => {
    const client = open()
    const { name, url } = await newQueue(client)
    const owned = { QueueName: name, QueueOwnerAWSAccountId: '000000000000' }
    assert.deepEqual(await client.call('GetQueueUrl', owned), { QueueUrl: url })
    const strange = { QueueName: name, QueueOwnerAWSAccountId: '999999999999' }
    await assertRefused(client.call('GetQueueUrl', strange), {
      code: simpleQueue('NonExistentQueue'),
    })
  })

  test('ListQueues pages, and has a token only when MaxResults is given', async () => {
    const client = open()
    const prefix = freshName('pages')
    const urls: string[] = []
    for (const number of [0, 1, 2, 3, 4]) {
      urls.push((await newQueue(client, {}, `${prefix}-${number}`)).url)
    }
    const all = await client.call('ListQueues', { QueueNamePrefix: prefix })
    assert.deepEqual(all, { QueueUrls: urls })
    const paging = { QueueNamePrefix: prefix, MaxResults: 2 }
    const { QueueUrls, NextToken } = await client.call('ListQueues', paging)
    assert.deepEqual(QueueUrls, urls.slice(0, 2))
    assert.ok(NextToken)
    const rest = { QueueNamePrefix: prefix, MaxResults: 10, NextToken }
    assert.deepEqual(await client.call('ListQueues', rest), { QueueUrls: urls.slice(2) })
  })

  test('a list of no queues is absent from the answer', async () => {
    assert.deepEqual(await open().call('ListQueues', { QueueNamePrefix: 'nobody-has-this' }), {})
  })

  test('ListQueues refuses sizes of pages that are out of bounds', async () => {
    for (const MaxResults of [0, 1001]) {
      await assertRefused(open().call('ListQueues', { MaxResults }), {
        code: 'InvalidParameterValue',
        message: `Value ${MaxResults} for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and 1000.`,
      })
    }
  })

  test('creating again with the same or no attributes answers the same URL', async () => {
    const client = open()
    const attributes = { VisibilityTimeout: '69', ReceiveMessageWaitTimeSeconds: '1' }
    const { name, url } = await newQueue(client, attributes)
    await send(client, { url }, 'counts do not matter')
    await send(client, { url }, 'delayed neither', { DelaySeconds: 1 })
    for (const again of [{}, attributes, { VisibilityTimeout: '69' }]) {
      assert.equal((await newQueue(client, again, name)).url, url)
    }
    const fifo = await newFifoQueue(client)
    assert.equal((await newQueue(client, { FifoQueue: 'true' }, fifo.name)).url, fifo.url)
  })

  test('creating again with other attributes is refused and names the attribute', async () => {
    const client = open()
    const created = { ReceiveMessageWaitTimeSeconds: '1', DelaySeconds: '1' }
    const changed = { ...created, DelaySeconds: '2' }
    const refused = {
      code: 'QueueAlreadyExists',
      message:
        'A queue already exists with the same name and a different value for attribute DelaySeconds',
    }
    const { name, url } = await newQueue(client, created)
    await assertRefused(newQueue(client, changed, name), refused)
    await client.call('SetQueueAttributes', { QueueUrl: url, Attributes: { DelaySeconds: '2' } })
    assert.equal((await newQueue(client, changed, name)).url, url)
    await assertRefused(newQueue(client, created, name), refused)
  })

  test('creating a FIFO queue again with other attributes is refused, too', async () => {
    const client = open()
    const { name } = await newFifoQueue(client)
    const other = { FifoQueue: 'true', ContentBasedDeduplication: 'false' }
    await assertRefused(newQueue(client, other, name), {
      code: 'QueueAlreadyExists',
      message:
        'A queue already exists with the same name and a different value for attribute ContentBasedDeduplication',
    })
  })

  test.each([
    ['a slash', 'orders/today', {}],
    ['a dot', 'orders.today', {}],
    ['81 characters', 'q'.repeat(81), {}],
    ['the FIFO suffix without the attribute', 'orders.fifo', {}],
    ['the attribute without the suffix', 'orders', { FifoQueue: 'true' }],
    ['nothing but the suffix', '.fifo', { FifoQueue: 'true' }],
  ])('a name with %s is refused', async (_what, name, attributes) => {
    await assertRefused(newQueue(open(), attributes, name), { code: 'InvalidParameterValue' })
  })

  test('names may be as long as 80 characters, the FIFO suffix included', async () => {
    const client = open()
    const longest = `${freshName()}-`.padEnd(80, 'q')
    assert.ok((await newQueue(client, {}, longest)).url.endsWith(longest))
    const fifo = `${longest.slice(0, 75)}.fifo`
    assert.ok((await newQueue(client, { FifoQueue: 'true' }, fifo)).url.endsWith(fifo))
  })

  test.each(queueKinds)('a deleted %s queue is gone for every action', async (queueKind) => {
    const client = open()
    const { name, url } = await newQueueOf(queueKind, client)
    await client.call('DeleteQueue', { QueueUrl: url })
    const refused = {
      code: simpleQueue('NonExistentQueue'),
      message:
        client.protocol === 'json'
          ? 'The specified queue does not exist.'
          : 'The specified queue does not exist for this wsdl version.',
    }
    await assertRefused(attributesOf(client, { url }), refused)
    await assertRefused(client.call('GetQueueUrl', { QueueName: name }), refused)
    await assertRefused(client.call('DeleteQueue', { QueueUrl: url }), refused)
    await assertRefused(client.call('PurgeQueue', { QueueUrl: url }), refused)
    await assertRefused(client.call('ListQueueTags', { QueueUrl: url }), refused)
    await assertRefused(client.call('TagQueue', { QueueUrl: url, Tags: { a: 'b' } }), refused)
    await assertRefused(client.call('UntagQueue', { QueueUrl: url, TagKeys: ['a'] }), refused)
    await assertRefused(client.call('RemovePermission', { QueueUrl: url, Label: 'a' }), refused)
    await assertRefused(
      client.call('AddPermission', {
        QueueUrl: url,
        Label: 'a',
        AWSAccountIds: ['111111111111'],
        Actions: ['SendMessage'],
      }),
      refused,
    )
    await assertRefused(client.call('ListDeadLetterSourceQueues', { QueueUrl: url }), refused)
    await assertRefused(
      client.call('SetQueueAttributes', { QueueUrl: url, Attributes: { DelaySeconds: '1' } }),
      refused,
    )
    const entry = { Id: 'a', ReceiptHandle: 'a' }
    const group = groupFor(queueKind)
    await assertRefused(send(client, { url }, 'x', group), refused)
    await assertRefused(receive(client, { url }), refused)
    await assertRefused(
      client.call('SendMessageBatch', {
        QueueUrl: url,
        Entries: [{ Id: 'a', MessageBody: 'x', ...group }],
      }),
      refused,
    )
    await assertRefused(
      client.call('DeleteMessageBatch', { QueueUrl: url, Entries: [entry] }),
      refused,
    )
    await assertRefused(
      client.call('ChangeMessageVisibilityBatch', {
        QueueUrl: url,
        Entries: [{ ...entry, VisibilityTimeout: 1 }],
      }),
      refused,
    )
  })

  test('the missing queue is an error of its own class', async () => {
    const { kind: thrown } = await refusalOf(open().call('GetQueueUrl', { QueueName: 'missing' }))
    assert.equal(thrown, 'QueueDoesNotExist')
  })

  test('a queue is known by its bare name', async () => {
    const client = open()
    const { name, url } = await newQueue(client)
    // The SDKs warn that this is not a URL and go on.
    const { MD5OfMessageBody } = await send(client, { url: name }, 'Using name instead of URL')
    assert.equal(MD5OfMessageBody, '86a83f96652a1bfad3891e7d523750cb')
    assert.equal((await receive(client, { url })).length, 1)
  })

  test('the host of a queue URL does not matter', async () => {
    const client = open()
    const { name, url } = await newQueue(client)
    await send(client, { url: `http://aws-local:12345/000000000000/${name}` }, 'from elsewhere')
    assert.equal((await receive(client, { url })).length, 1)
  })
})
