/** Receipt handles: how long they do, on which queue, and what is said when they do not. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { changeMessageVisibility } from '../../../src/surfaces/sqs-protocol/actions/change-message-visibility.ts'
import { deleteMessage } from '../../../src/surfaces/sqs-protocol/actions/delete-message.ts'
import { type ActionScene, hour, minute, openScene, refusal, second } from './action-scene.ts'

const expired = (handle: string) => ({
  code: 'InvalidParameterValue',
  message: `Value ${handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
})

/** A queue with one message, in the hands of a receiver for ten seconds. */
async function inHand(name = 'q'): Promise<{ scene: ActionScene; queue: string; handle: string }> {
  const scene = await openScene()
  const queue = await scene.queue(name, { visibilityMs: 10 * second })
  const fifo = { MessageGroupId: 'g', MessageDeduplicationId: 'd' }
  await scene.send(queue, 'body', name.endsWith('.fifo') ? fifo : {})
  const { ReceiptHandle: handle } = await scene.receiveOne(queue)
  return { scene, queue, handle }
}

describe('deleting on a standard queue', () => {
  test('can be repeated', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.delete(queue, handle)
    await scene.delete(queue, handle)
    await scene.clock.advance(minute)
    await scene.delete(queue, handle)
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('works after the visibility timeout', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.clock.advance(10 * second)
    await scene.delete(queue, handle)
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('with an older handle is accepted and deletes nothing while another receiver has it', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.clock.advance(10 * second)
    const { ReceiptHandle: newer } = await scene.receiveOne(queue)
    await scene.delete(queue, handle)
    await scene.clock.advance(10 * second)
    const { ReceiptHandle: newest } = await scene.receiveOne(queue)
    await scene.delete(queue, newer)
    await scene.delete(queue, newest)
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('works with an older handle once no receiver has the message', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.clock.advance(10 * second)
    await scene.receiveOne(queue)
    await scene.clock.advance(10 * second)
    await scene.delete(queue, handle)
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('works after the message was handed back', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.changeVisibility(queue, handle, 0)
    await scene.delete(queue, handle)
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('of an expired message is fine', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { retentionMs: minute, visibilityMs: minute })
    await scene.send(queue, 'body')
    await scene.clock.advance(5 * second)
    const { ReceiptHandle } = await scene.receiveOne(queue)
    await scene.clock.advance(minute)
    await scene.delete(queue, ReceiptHandle)
  })
})

describe('deleting on a FIFO queue', () => {
  test('is refused after the visibility timeout', async () => {
    const { scene, queue, handle } = await inHand('q.fifo')
    await scene.clock.advance(10 * second)
    assert.deepEqual(await refusal(scene.delete(queue, handle)), expired(handle))
    assert.equal((await scene.receiveOne(queue)).Body, 'body')
    assert.deepEqual(await refusal(scene.delete(queue, handle)), expired(handle))
  })

  test('works for as long as an extension says', async () => {
    const { scene, queue, handle } = await inHand('q.fifo')
    await scene.changeVisibility(queue, handle, 30)
    await scene.clock.advance(29 * second)
    await scene.delete(queue, handle)
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('is refused after the message was handed back', async () => {
    const { scene, queue, handle } = await inHand('q.fifo')
    await scene.changeVisibility(queue, handle, 0)
    assert.deepEqual(await refusal(scene.delete(queue, handle)), expired(handle))
  })

  test('can be repeated', async () => {
    const { scene, queue, handle } = await inHand('q.fifo')
    await scene.delete(queue, handle)
    await scene.delete(queue, handle)
  })
})

describe('changing the visibility', () => {
  test('moves the end of the timeout to so many seconds from now', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.clock.advance(8 * second)
    await scene.changeVisibility(queue, handle, 5)
    await scene.clock.advance(5 * second - 1)
    assert.deepEqual(await scene.receive(queue), [])
    await scene.clock.advance(1)
    assert.equal((await scene.receiveOne(queue)).Body, 'body')
  })

  test('to 0 makes the message visible at once, and its receive counts', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.changeVisibility(queue, handle, 0)
    const { Attributes } = await scene.receiveOne(queue, { AttributeNames: ['All'] })
    assert.equal(Attributes?.['ApproximateReceiveCount'], '2')
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('after a delete is refused, as the message does not exist', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.delete(queue, handle)
    for (const seconds of [42, 0]) {
      assert.deepEqual(await refusal(scene.changeVisibility(queue, handle, seconds)), {
        code: 'InvalidParameterValue',
        message: `Value ${handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
      })
    }
  })

  test('after the timeout hides the message again, on a standard queue', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.clock.advance(11 * second)
    await scene.changeVisibility(queue, handle, 2)
    assert.deepEqual(await scene.receive(queue), [])
    await scene.clock.advance(2 * second)
    assert.equal((await scene.receiveOne(queue)).Body, 'body')
  })

  test('to 0 after the timeout is fine on a standard queue, where the message is visible', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.clock.advance(11 * second)
    await scene.changeVisibility(queue, handle, 0)
    assert.equal((await scene.receiveOne(queue)).Body, 'body')
  })

  test('with an older handle is refused while another receiver has the message', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.clock.advance(10 * second)
    const { ReceiptHandle: newer } = await scene.receiveOne(queue)
    for (const seconds of [0, 60]) {
      assert.deepEqual(await refusal(scene.changeVisibility(queue, handle, seconds)), {
        code: 'InvalidParameterValue',
        message: `Value ${handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
      })
      assert.deepEqual(await scene.receive(queue), [])
    }
    // The end of the newer timeout is where it was.
    await scene.clock.advance(10 * second - 1)
    assert.deepEqual(await scene.receive(queue), [])
    await scene.changeVisibility(queue, newer, 1)
    await scene.clock.advance(second)
    assert.equal((await scene.receiveOne(queue)).Body, 'body')
  })

  test('with an older handle hides the message again once no receiver has it', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.clock.advance(10 * second)
    await scene.receiveOne(queue)
    await scene.clock.advance(10 * second)
    await scene.changeVisibility(queue, handle, 60)
    await scene.clock.advance(59 * second)
    assert.deepEqual(await scene.receive(queue), [])
    await scene.delete(queue, handle)
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('after the timeout is refused on a FIFO queue', async () => {
    const { scene, queue, handle } = await inHand('q.fifo')
    await scene.clock.advance(11 * second)
    assert.deepEqual(await refusal(scene.changeVisibility(queue, handle, 2)), expired(handle))
  })

  test('ends 12 hours after the receive, all extensions together', async () => {
    const { scene, queue, handle } = await inHand()
    await scene.changeVisibility(queue, handle, 12 * 3_600)
    await scene.clock.advance(hour)
    assert.deepEqual(await refusal(scene.changeVisibility(queue, handle, 43_200)), {
      code: 'InvalidParameterValue',
      message:
        'Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]',
    })
    await scene.changeVisibility(queue, handle, 11 * 3_600)
  })

  test.each([-10, 43_201])('to %d is refused', async (seconds) => {
    const { scene, queue, handle } = await inHand()
    assert.deepEqual(await refusal(scene.changeVisibility(queue, handle, seconds)), {
      code: 'InvalidParameterValue',
      message: `Value ${seconds} for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200.`,
    })
  })

  test('needs to say for how long', async () => {
    const { scene, queue, handle } = await inHand()
    const fields = { ReceiptHandle: handle }
    assert.deepEqual(await refusal(scene.call(changeMessageVisibility, queue, fields)), {
      code: 'MissingParameter',
      message: 'The request must contain the parameter VisibilityTimeout.',
    })
  })
})

describe.each([
  ['DeleteMessage', deleteMessage],
  ['ChangeMessageVisibility', changeMessageVisibility],
])('%s', (_name, action) => {
  const call = (scene: ActionScene, queue: string, handle: string | undefined): Promise<unknown> =>
    scene.call(action, queue, { ReceiptHandle: handle, VisibilityTimeout: 60 })

  test('refuses garbage', async () => {
    const { scene, queue } = await inHand()
    for (const handle of ['garbage', 'r2-1-1-1', 'x'.repeat(5_000)]) {
      assert.deepEqual(await refusal(call(scene, queue, handle)), {
        code: 'ReceiptHandleIsInvalid',
        message: `The input receipt handle "${handle}" is not a valid receipt handle.`,
      })
    }
  })

  test('refuses a handle of another queue, and one that no receive returned', async () => {
    const { scene, handle } = await inHand()
    const other = await scene.queue('other')
    for (const refused of [handle, 'r2-1-1-1-1.1']) {
      assert.deepEqual(await refusal(call(scene, other, refused)), {
        code: 'ReceiptHandleIsInvalid',
        message: `The receipt handle "${refused}" is not valid for this queue.`,
      })
    }
  })

  test.each([undefined, '', ' '])('needs a handle, and %j is none', async (handle) => {
    const { scene, queue } = await inHand()
    assert.deepEqual(await refusal(call(scene, queue, handle)), {
      code: 'MissingParameter',
      message: 'The request must contain the parameter ReceiptHandle.',
    })
  })

  test('needs a queue that exists', async () => {
    const { scene, handle } = await inHand()
    const { code } = await refusal(call(scene, 'missing', handle))
    assert.equal(code, 'AWS.SimpleQueueService.NonExistentQueue')
  })
})
