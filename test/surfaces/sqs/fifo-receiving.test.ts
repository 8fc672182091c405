/** Order and groups on FIFO queues, receive attempts, and groups on standard queues, over the wire. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  type ActionScene,
  type Fields,
  minute,
  openScene,
  refusal,
  second,
} from './action-scene.ts'

async function filled(
  ...bodies: readonly string[]
): Promise<{ scene: ActionScene; queue: string }> {
  const scene = await openScene()
  const settings = { visibilityMs: 30 * second, deduplicateByContent: true }
  const queue = await scene.queue('q.fifo', settings)
  // The part before the dash is the group.
  for (const body of bodies) await scene.send(queue, body, { MessageGroupId: body.split('-')[0] })
  return { scene, queue }
}

describe('receive order', () => {
  test('one receive takes as many as possible of the first group before the next', async () => {
    const { scene, queue } = await filled('a-1', 'b-1', 'a-2', 'a-3')
    assert.deepEqual(await scene.bodies(queue), ['a-1', 'a-2', 'a-3', 'b-1'])
  })

  test('a group comes again in order after its timeout', async () => {
    const { scene, queue } = await filled('a-1', 'a-2', 'a-3')
    assert.deepEqual(await scene.bodies(queue), ['a-1', 'a-2', 'a-3'])
    await scene.clock.advance(30 * second)
    assert.deepEqual(await scene.bodies(queue), ['a-1', 'a-2', 'a-3'])
  })
})

describe('group lock', () => {
  test('a group with a message in flight gives nothing more, also of new sends', async () => {
    const { scene, queue } = await filled('a-1', 'a-2', 'b-1')
    const { ReceiptHandle } = await scene.receiveOne(queue)
    await scene.send(queue, 'a-3', { MessageGroupId: 'a' })
    assert.deepEqual(await scene.bodies(queue), ['b-1'])
    await scene.delete(queue, ReceiptHandle)
    assert.deepEqual(await scene.bodies(queue), ['a-2', 'a-3'])
  })

  test('a parked receive wakes when the group is unlocked', async () => {
    const { scene, queue } = await filled('a-1', 'a-2')
    const { ReceiptHandle } = await scene.receiveOne(queue)
    const waiting = scene.bodies(queue, { WaitTimeSeconds: 20 })
    await scene.clock.advance(second)
    await scene.delete(queue, ReceiptHandle)
    assert.deepEqual(await waiting, ['a-2'])
  })

  test('after a partial delete the group stays locked', async () => {
    const { scene, queue } = await filled('a-1', 'a-2', 'a-3')
    const [first] = await scene.receive(queue, { MaxNumberOfMessages: 2 })
    await scene.delete(queue, first?.ReceiptHandle ?? '')
    assert.deepEqual(await scene.bodies(queue), [])
    await scene.clock.advance(30 * second)
    assert.deepEqual(await scene.bodies(queue), ['a-2', 'a-3'])
  })

  test('an extended head keeps the rest back', async () => {
    const { scene, queue } = await filled('a-1', 'a-2', 'a-3')
    const [first] = await scene.receive(queue, { MaxNumberOfMessages: 10 })
    await scene.changeVisibility(queue, first?.ReceiptHandle ?? '', 60)
    await scene.clock.advance(30 * second)
    assert.deepEqual(await scene.bodies(queue), [])
    await scene.clock.advance(30 * second)
    assert.deepEqual(await scene.bodies(queue), ['a-1', 'a-2', 'a-3'])
  })

  test('a head that is handed back restarts the group', async () => {
    const { scene, queue } = await filled('a-1', 'a-2')
    const { ReceiptHandle } = await scene.receiveOne(queue)
    await scene.changeVisibility(queue, ReceiptHandle, 0)
    assert.deepEqual(await scene.bodies(queue), ['a-1', 'a-2'])
  })
})

describe('ReceiveRequestAttemptId', () => {
  const attempt: Fields = { ReceiveRequestAttemptId: 'attempt', MaxNumberOfMessages: 10 }

  test('answers the same messages and handles again, and counts them once', async () => {
    const { scene, queue } = await filled('a-1', 'b-1')
    const fields = { ...attempt, AttributeNames: ['ApproximateReceiveCount'] }
    const first = await scene.receive(queue, fields)
    await scene.clock.advance(20 * second)
    assert.deepEqual(await scene.receive(queue, fields), first)
  })

  test('resets the visibility timeout', async () => {
    const { scene, queue } = await filled('a-1')
    const [message] = await scene.receive(queue, attempt)
    await scene.clock.advance(20 * second)
    await scene.receive(queue, attempt)
    await scene.clock.advance(20 * second)
    await scene.delete(queue, message?.ReceiptHandle ?? '')
  })

  test.each<[string, (scene: ActionScene, queue: string, handle: string) => Promise<void>]>([
    ['was deleted', (scene, queue, handle) => scene.delete(queue, handle)],
    ['was changed', (scene, queue, handle) => scene.changeVisibility(queue, handle, 60)],
  ])('is void once one of its messages %s', async (_what, touch) => {
    const { scene, queue } = await filled('a-1', 'b-1')
    const [first] = await scene.receive(queue, attempt)
    await touch(scene, queue, first?.ReceiptHandle ?? '')
    assert.deepEqual(await scene.receive(queue, attempt), [])
  })

  test('is forgotten after 5 minutes', async () => {
    const { scene, queue } = await filled('a-1')
    const fields = { ...attempt, VisibilityTimeout: 600 }
    assert.equal((await scene.receive(queue, fields)).length, 1)
    await scene.clock.advance(5 * minute)
    assert.deepEqual(await scene.receive(queue, fields), [])
  })

  test('is written like a deduplication id', async () => {
    const { scene, queue } = await filled()
    assert.deepEqual(await refusal(scene.receive(queue, { ReceiveRequestAttemptId: 'a b' })), {
      code: 'InvalidParameterValue',
      message:
        'Value a b for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length.',
    })
  })
})

test('fair queues: a group on a standard queue is kept and given back, without a sequence number', async () => {
  const scene = await openScene()
  const queue = await scene.queue('q')
  const sent = await scene.send(queue, 'message', { MessageGroupId: 'test' })
  assert.equal('SequenceNumber' in sent, false)
  const { Attributes = {} } = await scene.receiveOne(queue, { AttributeNames: ['All'] })
  assert.equal(Attributes['MessageGroupId'], 'test')
  assert.equal('SequenceNumber' in Attributes, false)
  assert.equal('MessageDeduplicationId' in Attributes, false)
})
