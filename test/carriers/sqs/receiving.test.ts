/** Receiving from SQS: long polls, several at a time, and receives that are aborted. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  bodies,
  carrierScene,
  freshName,
  messageOf,
  newFifoQueue,
  newQueue,
  receiveAll,
  receiveFrom,
  receiveOne,
  sendBodies,
  settingsOf,
  until,
} from './carrier-scene.ts'
import { sqsServers } from './sqs-servers.ts'

describe.each(sqsServers)('receiving from $name', (kind) => {
  const scene = carrierScene(kind)

  test('waits for the first message', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    const receiving = receiveFrom(carrier, queue, { waitMs: 60_000 })
    await until(() => scene.watch.calls.some(({ action }) => action === 'ReceiveMessage'))
    await sendBodies(carrier, queue, ['one'])
    const [delivery] = await receiving
    assert.equal(delivery?.body, 'one')
    const [first] = scene.watch.calls.filter(({ action }) => action === 'ReceiveMessage')
    assert.equal(first?.input['WaitTimeSeconds'], 20)
  })

  test('returns nothing after its time', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    assert.deepEqual(await receiveFrom(carrier, queue, { waitMs: 0 }), [])
    assert.deepEqual(await receiveFrom(carrier, queue, { waitMs: 1_000 }), [])
  })

  test('counts receives, and remembers the first', async ({ skip }) => {
    skip(kind.lacks.receiveCounts !== undefined, kind.lacks.receiveCounts)
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, ['one'])
    const first = await receiveOne(carrier, queue)
    await carrier.release({ queue, messages: [{ handle: first.handle, delayMs: 0 }] })
    const second = await receiveOne(carrier, queue)
    assert.deepEqual([first.receiveCount, second.receiveCount], [1, 2])
    assert.equal(second.id, first.id)
    assert.equal(second.sentAt, first.sentAt)
    assert.equal(second.firstReceivedAt, first.firstReceivedAt)
  })

  test('makes more calls at a time while there is a backlog, and one when there is none', async () => {
    const carrier = await scene.open({ url: scene.watch.url, pollers: { max: 3 } })
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(120))
    const calls = (): number =>
      scene.watch.calls.filter(({ action }) => action === 'ReceiveMessage').length
    const found: [calls: number, messages: number][] = []
    for (let times = 0; times < 5; times += 1) {
      scene.watch.reset()
      const some = await receiveFrom(carrier, queue, { max: 100 })
      found.push([calls(), some.length])
    }
    assert.deepEqual(found, [
      [1, 10],
      [2, 20],
      [3, 30],
      [3, 30],
      [3, 30],
    ])
    scene.watch.reset()
    assert.deepEqual(await receiveFrom(carrier, queue, { max: 100, waitMs: 1_000 }), [])
    // Three that found nothing, and one that waited.
    assert.equal(calls(), 4)
    scene.watch.reset()
    await receiveFrom(carrier, queue, { max: 100, waitMs: 0 })
    assert.equal(calls(), 1)
  })

  test('takes no more than was asked for', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(30))
    assert.equal((await receiveFrom(carrier, queue, { max: 3 })).length, 3)
    await receiveFrom(carrier, queue, { max: 15 })
    assert.ok((await receiveFrom(carrier, queue, { max: 13 })).length <= 13)
  })

  test('that was aborted before takes nothing', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, ['one'])
    assert.deepEqual(await receiveFrom(carrier, queue, { signal: AbortSignal.abort() }), [])
    assert.equal((await receiveOne(carrier, queue)).receiveCount, 1)
  })

  test('that is aborted leaves its call to the next receive', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    const aborting = new AbortController()
    const receiving = receiveFrom(carrier, queue, { signal: aborting.signal, waitMs: 20_000 })
    await until(() => scene.watch.calls.some(({ action }) => action === 'ReceiveMessage'))
    aborting.abort()
    assert.deepEqual(await receiving, [])
    const next = receiveFrom(carrier, queue, { waitMs: 20_000 })
    await sendBodies(carrier, queue, ['one'])
    const [delivery] = await next
    assert.equal(delivery?.receiveCount, 1)
    const calls = scene.watch.calls.filter(({ action }) => action === 'ReceiveMessage')
    assert.equal(calls.length, 1)
  })

  test('returns messages that arrive after the abort', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(3))
    scene.watch.reset()
    const aborting = new AbortController()
    const held = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    scene.watch.after = async ({ action }) => {
      if (action !== 'ReceiveMessage') return
      reached.resolve()
      await held.promise
    }
    const receiving = receiveFrom(carrier, queue, { signal: aborting.signal })
    await reached.promise
    aborting.abort()
    assert.deepEqual(await receiving, [])
    scene.watch.after = () => undefined
    held.resolve()
    const again = await receiveAll(await scene.open(), queue, 3)
    assert.ok(again.every(({ receiveCount }) => receiveCount > 1))
  })

  test('ends when the carrier is closed', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    const receiving = receiveFrom(carrier, queue, { waitMs: 20_000 })
    await until(() => scene.watch.calls.some(({ action }) => action === 'ReceiveMessage'))
    await carrier.close()
    assert.deepEqual(await receiving, [])
  })

  test('shows where a message comes from that SQS has dead-lettered', async ({ skip }) => {
    skip(kind.lacks.deadLetterSources !== undefined, kind.lacks.deadLetterSources)
    const carrier = await scene.open({ namePrefix: 'shop-' })
    const dead = await newQueue(carrier)
    const queue = freshName()
    const deadLetter = { queue: dead, maxReceives: 1 }
    const settings = settingsOf('standard', { deadLetter })
    await carrier.ensure({ queue, settings, isTracked: false })
    await sendBodies(carrier, queue, ['poison'])
    const { handle, id } = await receiveOne(carrier, queue)
    await carrier.release({ queue, messages: [{ handle, delayMs: 0 }] })
    await receiveFrom(carrier, queue, { waitMs: 0 })
    const delivery = await receiveOne(carrier, dead)
    assert.equal(delivery.body, 'poison')
    assert.deepEqual(delivery.labels, {
      id,
      isTracked: false,
      job: null,
      deadLetterOrigin: { source: queue, at: delivery.firstReceivedAt, reason: null },
    })
  })

  test('repeats an attempt of a FIFO queue by its id', async ({ skip }) => {
    skip(kind.lacks.receiveAttempts !== undefined, kind.lacks.receiveAttempts)
    const carrier = await scene.open()
    const queue = await newFifoQueue(carrier)
    const message = messageOf('one', { group: 'group', deduplicationId: 'one' })
    await carrier.send({ queue, messages: [message] })
    const [first] = await receiveFrom(carrier, queue, { attemptId: 'attempt-1' })
    const [second] = await receiveFrom(carrier, queue, { attemptId: 'attempt-1' })
    assert.ok(first !== undefined)
    assert.equal(second?.id, first.id)
  })

  test('of a queue that does not exist rejects', async () => {
    const carrier = await scene.open()
    await assert.rejects(receiveFrom(carrier, 'missing'), { code: 'queue_not_found' })
  })
})
