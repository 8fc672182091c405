/** Queues of the carrier at SQS: creating them, comparing them, and emptying them. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { CarrierQueue } from '../../../src/backends/carriers/carrier.ts'
import {
  bodies,
  carrierScene,
  freshName,
  newFifoQueue,
  newQueue,
  receiveAll,
  receiveFrom,
  sendBodies,
  settingsOf,
  until,
} from './carrier-scene.ts'
import { sqsServers } from './sqs-servers.ts'

describe.each(sqsServers)('queues at $name', (kind) => {
  const scene = carrierScene(kind)

  test('are created with the settings of the app, and are then the same', async () => {
    const carrier = await scene.open()
    const settings = settingsOf('standard', {
      visibilityMs: 300_000,
      delayMs: 5_000,
      retentionMs: 3_600_000,
      receiveWaitMs: 2_000,
    })
    const queue = { queue: freshName(), settings, isTracked: true }
    assert.deepEqual(await carrier.ensure(queue), [])
    assert.deepEqual(await (await scene.open({ queues: 'use' })).ensure(queue), [])
  })

  test('are created as FIFO queues', async () => {
    const carrier = await scene.open()
    const settings = settingsOf('fifo', { deduplicateByContent: true })
    const queue = { queue: freshName('.fifo'), settings, isTracked: true }
    assert.deepEqual(await carrier.ensure(queue), [])
    assert.deepEqual(await carrier.ensure(queue), [])
  })

  test('report differences, and stay as they are', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    const settings = settingsOf('standard', { visibilityMs: 300_000, retentionMs: 60_000 })
    for (let times = 0; times < 2; times += 1) {
      assert.deepEqual(await carrier.ensure({ queue, settings, isTracked: true }), [
        'VisibilityTimeout is 30 s at SQS, 300 s in the app',
        'MessageRetentionPeriod is 345600 s at SQS, 60 s in the app',
      ])
    }
  })

  test('report other deduplication', async () => {
    const carrier = await scene.open()
    const queue = await newFifoQueue(carrier)
    const settings = settingsOf('fifo', { deduplicateByContent: true })
    assert.deepEqual(await carrier.ensure({ queue, settings, isTracked: true }), [
      'ContentBasedDeduplication is false at SQS, true in the app',
    ])
  })

  test('dead-letter at SQS only if they are not tracked', async () => {
    const carrier = await scene.open()
    const dead = await newQueue(carrier)
    const settings = settingsOf('standard', { deadLetter: { queue: dead, maxReceives: 3 } })
    const own: CarrierQueue = { queue: freshName(), settings, isTracked: false }
    assert.deepEqual(await carrier.ensure(own), [])
    assert.deepEqual(await carrier.ensure(own), [])
    const five = settingsOf('standard', { deadLetter: { queue: dead, maxReceives: 5 } })
    assert.deepEqual(await carrier.ensure({ ...own, settings: five }), [
      `RedrivePolicy is '${dead}' after 3 receives at SQS, '${dead}' after 5 receives in the app`,
    ])
    assert.deepEqual(await carrier.ensure({ ...own, isTracked: true }), [
      `RedrivePolicy is '${dead}' after 3 receives at SQS, but the store counts the attempts of this queue`,
    ])
    const tracked = { queue: freshName(), settings, isTracked: true }
    assert.deepEqual(await carrier.ensure(tracked), [])
    assert.deepEqual(await carrier.ensure({ ...tracked, isTracked: false }), [
      `RedrivePolicy is not set at SQS, '${dead}' after 3 receives in the app`,
    ])
  })

  test('that are missing are refused if they are used as they are', async () => {
    const carrier = await scene.open({ queues: 'use' })
    const queue = freshName()
    const ensuring = carrier.ensure({ queue, settings: settingsOf('standard'), isTracked: true })
    await assert.rejects(ensuring, {
      code: 'carrier_unusable',
      message: `Queue '${queue}' does not exist at SQS. Create it, or open the carrier with \`queues: 'create'\`.`,
    })
  })

  test('must have a name of their type', async () => {
    const carrier = await scene.open()
    const ensure = (queue: string, type: 'standard' | 'fifo'): Promise<unknown> =>
      carrier.ensure({ queue, settings: settingsOf(type), isTracked: true })
    await assert.rejects(ensure(freshName(), 'fifo'), /ends with \.fifo/)
    await assert.rejects(ensure(freshName('.fifo'), 'standard'), { code: 'carrier_unusable' })
    await assert.rejects(ensure('a'.repeat(81), 'standard'), { code: 'carrier_unusable' })
  })

  test('have a prefix at SQS', async () => {
    const carrier = await scene.open({ namePrefix: 'shop-' })
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, ['one'])
    const plain = await scene.open()
    const [delivery] = await receiveFrom(plain, `shop-${queue}`)
    assert.equal(delivery?.body, 'one')
    await assert.rejects(receiveFrom(plain, queue), { code: 'queue_not_found' })
  })

  test('tell how many messages they have', async ({ skip }) => {
    skip(kind.lacks.countsOfLeased !== undefined, kind.lacks.countsOfLeased)
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(3))
    await receiveAll(carrier, queue, 1, { max: 1 })
    const levels = await carrier.levels({ queue })
    assert.deepEqual(levels, { ready: 2, leased: 1, delayed: 0, oldestSentAt: null })
  })

  test('are purged', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, bodies(3))
    await carrier.purge({ queue })
    // SQS takes up to a minute for it.
    await until(async () => (await carrier.levels({ queue })).ready === 0)
  })

  test('are removed, and can be found again under a new URL', async () => {
    const carrier = await scene.open()
    const other = await scene.open()
    const queue = await newQueue(carrier)
    await sendBodies(other, queue, ['one'])
    await carrier.removeQueue({ queue })
    await assert.rejects(sendBodies(other, queue, ['two']), { code: 'queue_not_found' })
    await carrier.ensure({ queue, settings: settingsOf('standard'), isTracked: true })
    await sendBodies(other, queue, ['three'])
    const [delivery] = await receiveFrom(other, queue)
    assert.equal(delivery?.body, 'three')
  })

  test('cannot be read without receiving', async () => {
    const carrier = await scene.open()
    const queue = await newQueue(carrier)
    const peeking = carrier.peek({ queue, state: 'ready', limit: 1 })
    await assert.rejects(peeking, { code: 'unsupported' })
    await carrier.check()
  })
})
