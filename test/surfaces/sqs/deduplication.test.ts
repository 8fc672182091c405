/** Deduplication on FIFO queues, as clients of the wire see it. */
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { minute, openScene } from './action-scene.ts'

const group = { MessageGroupId: 'g' }

test('a duplicate within 5 minutes repeats MessageId and SequenceNumber, also after a delete', async () => {
  const scene = await openScene()
  const queue = await scene.queue('q.fifo')
  const id = { ...group, MessageDeduplicationId: 'd' }
  const first = await scene.send(queue, 'one', id)
  await scene.delete(queue, (await scene.receiveOne(queue)).ReceiptHandle)
  await scene.clock.advance(5 * minute - 1)
  const again = await scene.send(queue, 'two', id)
  assert.equal(again.MessageId, first.MessageId)
  assert.equal(again.SequenceNumber, first.SequenceNumber)
  assert.equal(again.MD5OfMessageBody, 'b8a9f715dbb64fd5c56e7783c6820a61')
  assert.deepEqual(await scene.receive(queue), [])
})

test('after 5 minutes the same id is a new message', async () => {
  const scene = await openScene()
  const queue = await scene.queue('q.fifo')
  const id = { ...group, MessageDeduplicationId: 'd' }
  const first = await scene.send(queue, 'one', id)
  await scene.clock.advance(5 * minute)
  assert.notEqual((await scene.send(queue, 'two', id)).MessageId, first.MessageId)
  assert.deepEqual(await scene.bodies(queue), ['one', 'two'])
})

test('content deduplication looks at the body alone, and shows its sha256', async () => {
  const scene = await openScene()
  const queue = await scene.queue('q.fifo', { deduplicateByContent: true })
  const attribute = { n: { DataType: 'Number', StringValue: '1' } }
  const first = await scene.send(queue, 'body', group)
  const again = await scene.send(queue, 'body', { ...group, MessageAttributes: attribute })
  assert.equal(again.MessageId, first.MessageId)
  const { Attributes = {} } = await scene.receiveOne(queue, { AttributeNames: ['All'] })
  assert.equal(
    Attributes['MessageDeduplicationId'],
    '230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5',
  )
})

test('an explicit id goes before the content', async () => {
  const scene = await openScene()
  const queue = await scene.queue('q.fifo', { deduplicateByContent: true })
  await scene.send(queue, 'body', group)
  await scene.send(queue, 'body', { ...group, MessageDeduplicationId: 'other' })
  assert.deepEqual(await scene.bodies(queue), ['body', 'body'])
})

test('an id counts for the whole queue, or within its group where the scope says so', async () => {
  const scene = await openScene()
  const wide = await scene.queue('wide.fifo')
  const narrow = await scene.queue('narrow.fifo', { deduplicationScope: 'group' })
  for (const queue of [wide, narrow]) {
    for (const MessageGroupId of ['a', 'b', 'a']) {
      await scene.send(queue, MessageGroupId, { MessageGroupId, MessageDeduplicationId: 'd' })
    }
  }
  assert.deepEqual(await scene.bodies(wide), ['a'])
  assert.deepEqual(await scene.bodies(narrow), ['a', 'b'])
})
