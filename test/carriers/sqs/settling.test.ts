/** Extending leases, giving messages back, and deleting them. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  bodies,
  carrierScene,
  messageOf,
  newFifoQueue,
  newQueue,
  receiveAll,
  receiveFrom,
  receiveOne,
  sendBodies,
  until,
} from './carrier-scene.ts'
import { sqsServers } from './sqs-servers.ts'

describe.each(sqsServers)('messages leased from $name', (kind) => {
  const scene = carrierScene(kind)

  test('are deleted in calls that are shared', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(25))
    const all = await receiveAll(carrier, queue, 25)
    scene.watch.reset()
    const removed = await Promise.all(
      all.map((message) => carrier.remove({ queue, messages: [message] })),
    )
    assert.deepEqual(
      removed.flat(),
      all.map(() => true),
    )
    assert.deepEqual(scene.watch.entriesOf('DeleteMessageBatch').toSorted(), [10, 10, 5])
    await until(async () => (await carrier.levels({ queue })).leased === 0)
  })

  test('stay leased when they are extended', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(12))
    const all = await receiveAll(carrier, queue, 12)
    scene.watch.reset()
    const leases = all.map(({ handle }) => ({ handle, visibilityMs: 600_000 }))
    const extended = await carrier.extend({ queue, leases })
    assert.deepEqual(
      extended,
      all.map(() => true),
    )
    assert.deepEqual(scene.watch.entriesOf('ChangeMessageVisibilityBatch').toSorted(), [10, 2])
    const timeouts = scene.watch.calls.flatMap(({ input }) =>
      (input['Entries'] as readonly object[]).map((entry) => Object(entry).VisibilityTimeout),
    )
    assert.deepEqual(new Set(timeouts), new Set([600]))
  })

  test('can be received again at once, or after a delay', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(2))
    const [now, later] = await receiveAll(carrier, queue, 2)
    assert.ok(now !== undefined && later !== undefined)
    const back = await carrier.release({
      queue,
      messages: [
        { handle: now.handle, delayMs: 0 },
        { handle: later.handle, delayMs: 60_000, error: 'it failed' },
      ],
    })
    assert.deepEqual(back, [true, true])
    assert.equal((await receiveOne(carrier, queue)).id, now.id)
    assert.deepEqual(await receiveFrom(carrier, queue, { waitMs: 0 }), [])
  })

  test('cannot be given back for longer than SQS allows', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    const giving = carrier.release({ queue, messages: [{ handle: 'any', delayMs: 43_200_001 }] })
    await assert.rejects(giving, { code: 'invalid_argument' })
  })

  test('that were deleted cannot be extended', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(2))
    const [gone, live] = await receiveAll(carrier, queue, 2)
    assert.ok(gone !== undefined && live !== undefined)
    await carrier.remove({ queue, messages: [gone] })
    const leases = [gone, live].map(({ handle }) => ({ handle, visibilityMs: 60_000 }))
    assert.deepEqual(await carrier.extend({ queue, leases }), [false, true])
  })

  test('are not touched by what is not a handle', async ({ skip }) => {
    skip(kind.lacks.handleChecks !== undefined, kind.lacks.handleChecks)
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, ['one'])
    const { handle } = await receiveOne(carrier, queue)
    const messages = [{ handle: 'no handle' }, { handle }]
    assert.deepEqual(await carrier.remove({ queue, messages }), [false, true])
  })

  test('of a FIFO queue cannot be deleted after their lease', async ({ skip }) => {
    skip(kind.lacks.fifoExpiry !== undefined, kind.lacks.fifoExpiry)
    const carrier = await scene.open()
    const queue = await newFifoQueue(carrier)
    const message = messageOf('one', { group: 'group', deduplicationId: 'one' })
    await carrier.send({ queue, messages: [message] })
    const [first] = await receiveFrom(carrier, queue, { visibilityMs: 1_000 })
    assert.ok(first !== undefined)
    const second = await receiveOne(carrier, queue)
    assert.deepEqual(await carrier.remove({ queue, messages: [first] }), [false])
    assert.deepEqual(await carrier.remove({ queue, messages: [second] }), [true])
  })

  test('of a group of a FIFO queue keep their order when they are given back', async ({ skip }) => {
    skip(kind.lacks.groupsAtOnce !== undefined, kind.lacks.groupsAtOnce)
    const carrier = await scene.open()
    const queue = await newFifoQueue(carrier)
    const messages = bodies(3).map((body) =>
      messageOf(body, { group: 'group', deduplicationId: body }),
    )
    await carrier.send({ queue, messages })
    const all = await receiveAll(carrier, queue, 3)
    await carrier.release({ queue, messages: all.map(({ handle }) => ({ handle, delayMs: 0 })) })
    const again = await receiveAll(carrier, queue, 3)
    assert.deepEqual(
      again.map(({ body }) => body),
      bodies(3),
    )
  })
})
