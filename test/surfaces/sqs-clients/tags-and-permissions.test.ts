/** Tags and permissions of queues, and purging them. */
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
  receiveBodies,
  send,
} from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-tags')

describe.concurrent.each(clientKinds)('tags, with $name', (kind) => {
  const open = () => server.client(kind)

  test('they are given at creation, with empty values and any letters', async () => {
    const client = open()
    const tags = { Team: 'Grüße ✓', team: 'case matters', empty: '', 'a:b/c=d+e@f': 'x & <y>' }
    const QueueName = freshName()
    const { QueueUrl } = await client.call('CreateQueue', { QueueName, tags })
    assert.deepEqual(await client.call('ListQueueTags', { QueueUrl }), { Tags: tags })
  })

  test('they are added, overwritten and removed one by one', async () => {
    const client = open()
    for (const queueKind of queueKinds) {
      const { url: QueueUrl } = await newQueueOf(queueKind, client)
      const tagsNow = () => client.call('ListQueueTags', { QueueUrl })
      assert.deepEqual(await tagsNow(), {})
      await client.call('TagQueue', { QueueUrl, Tags: { one: '1', two: '2', three: '' } })
      assert.deepEqual(await tagsNow(), { Tags: { one: '1', two: '2', three: '' } })
      await client.call('TagQueue', { QueueUrl, Tags: { one: 'ONE' } })
      await client.call('UntagQueue', { QueueUrl, TagKeys: ['three', 'never-there'] })
      assert.deepEqual(await tagsNow(), { Tags: { one: 'ONE', two: '2' } })
      await client.call('UntagQueue', { QueueUrl, TagKeys: ['one', 'two'] })
      assert.deepEqual(await tagsNow(), {})
    }
  })
})

describe.concurrent.each(clientKinds)('permissions, with $name', (kind) => {
  const open = () => server.client(kind)
  const account = 'arn:aws:iam::000000000000:root'

  test('they become statements of a policy, and leave with it', async () => {
    const client = open()
    const { url: QueueUrl, arn } = await newQueue(client)
    const policy = async () => {
      const { Policy } = await attributesOf(client, { url: QueueUrl }, ['Policy'])
      return Policy === undefined ? undefined : JSON.parse(Policy)
    }
    const statement = (label: string, principals: string | readonly string[]) => ({
      Sid: label,
      Effect: 'Allow',
      Principal: { AWS: principals },
      Action: 'SQS:ReceiveMessage',
      Resource: arn,
    })
    const document = (...statements: readonly unknown[]) => ({
      Version: '2008-10-17',
      Id: `${arn}/SQSDefaultPolicy`,
      Statement: statements,
    })
    const add = (Label: string, ...AWSAccountIds: string[]) =>
      client.call('AddPermission', { QueueUrl, Label, AWSAccountIds, Actions: ['ReceiveMessage'] })
    const remove = (Label: string) => client.call('RemovePermission', { QueueUrl, Label })

    await add('both', '000000000000', '668614515564')
    const added = await policy()
    added.Statement[0].Principal.AWS.sort()
    const principals = [account, 'arn:aws:iam::668614515564:root']
    assert.deepEqual(added, document(statement('both', principals)))
    await remove('both')
    assert.equal(await policy(), undefined)

    await add('one', '000000000000')
    assert.deepEqual(await policy(), document(statement('one', account)))
    await assertRefused(add('one', '668614515564'), {
      code: 'InvalidParameterValue',
      message: 'Value one for parameter Label is invalid. Reason: Already exists.',
    })
    await add('two', '000000000000')
    const both = document(statement('one', account), statement('two', account))
    assert.deepEqual(await policy(), both)
    await remove('one')
    assert.deepEqual(await policy(), document(statement('two', account)))
    await remove('two')
    assert.equal(await policy(), undefined)
    await assertRefused(remove('two'), {
      code: 'InvalidParameterValue',
      message: "Value two for parameter Label is invalid. Reason: can't find label.",
    })
  })

  test('several actions stand in a list, and those that do not exist are refused', async () => {
    const client = open()
    const { url: QueueUrl } = await newFifoQueue(client)
    const input = { QueueUrl, Label: 'some', AWSAccountIds: ['111111111111'] }
    const Actions = ['SendMessage', 'ReceiveMessage', '*']
    await client.call('AddPermission', { ...input, Actions })
    const { Policy = '' } = await attributesOf(client, { url: QueueUrl }, ['Policy'])
    const [{ Action }] = JSON.parse(Policy).Statement
    assert.deepEqual(Action.sort(), ['SQS:*', 'SQS:ReceiveMessage', 'SQS:SendMessage'])
    await assertRefused(
      client.call('AddPermission', { ...input, Label: 'bad', Actions: ['EatMessage'] }),
      { code: 'InvalidParameterValue' },
    )
    await client.call('RemovePermission', { QueueUrl, Label: 'some' })
    assert.deepEqual(await attributesOf(client, { url: QueueUrl }, ['Policy']), {})
  })
})

describe.concurrent.each(clientKinds)('purging, with $name', (kind) => {
  const open = () => server.client(kind)

  test.each(queueKinds)('a %s queue loses all messages, and takes new ones', async (queueKind) => {
    const client = open()
    const queue = await newQueueOf(queueKind, client)
    const group = groupFor(queueKind)
    for (const body of ['one', 'two', 'three']) await send(client, queue, body, group)
    const inFlight = await receive(client, queue, { MaxNumberOfMessages: 1, VisibilityTimeout: 1 })
    assert.equal(inFlight.length, 1)
    if (queueKind === 'standard') await send(client, queue, 'delayed', { DelaySeconds: 1 })
    await client.call('PurgeQueue', { QueueUrl: queue.url })
    await send(client, queue, 'fresh', group)
    assert.deepEqual(await receiveBodies(client, queue), ['fresh'])
    // By then the message in flight and the delayed one would have come back.
    assert.deepEqual(await receiveBodies(client, queue, { WaitTimeSeconds: 2 }), [])
  })

  test('the memory of deduplication goes as well', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    const same = { MessageGroupId: 'g', MessageDeduplicationId: 'same' }
    await send(client, queue, 'before', same)
    await client.call('PurgeQueue', { QueueUrl: queue.url })
    await send(client, queue, 'after', same)
    assert.deepEqual(await receiveBodies(client, queue), ['after'])
  })
})
