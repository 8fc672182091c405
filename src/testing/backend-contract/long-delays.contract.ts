/** Delays that are longer than SQS allows, and times instead of delays. */
import assert from 'node:assert/strict'
import type { NewMessage } from '../../backends/backend.ts'
import { limits } from '../../core/limits.ts'
import { assertRefused, created, day, minute, only, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const tenYears = limits.messageDelayMs.max

/** The store's time, read from the latest message. */
async function storeTime(scene: Scene, queue: string): Promise<number> {
  await scene.queue(queue)
  await scene.send(queue, 'now')
  const { sentAt } = await scene.receiveOne(queue)
  await scene.backend.purgeQueue({ queue })
  return sentAt
}

export function describeLongDelays(suite: ContractSuite): void {
  suite.describe('long delays', () => {
    describeDelayed(suite)
    describeTimes(suite)
    describeKept(suite)
  })
}

function describeDelayed(suite: ContractSuite): void {
  suite.needing('exactFigures').test('a message can wait for ten years', async (scene) => {
    await scene.queue('q')
    await scene.send('q', { body: 'x', delayMs: tenYears })
    const { dueAt, sentAt } = only(await scene.peek('q', 'delayed'))
    assert.equal(dueAt, sentAt + tenYears)
    await scene.advance(tenYears - second)
    await scene.sweep()
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(second)
    const delivery = await scene.receiveOne('q')
    assert.deepEqual([delivery.body, delivery.sentAt], ['x', sentAt])
  })

  suite.needing('reopen').test('also across a restart', async (scene) => {
    await scene.queue('q')
    await scene.send('q', { body: 'x', delayMs: 40 * day })
    await scene.advance(30 * day)
    await scene.reopen()
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 1 })
    await scene.advance(10 * day)
    assert.deepEqual(await scene.receiveBodies('q'), ['x'])
  })

  suite.test('its age counts from the end of the delay', async (scene) => {
    await scene.queue('q')
    await scene.send('q', { body: 'x', delayMs: 40 * day })
    await scene.advance(40 * day + minute)
    assert.equal((await scene.statistics('q')).oldestReadyAgeMs, minute)
    await scene.sweep()
    assert.equal((await scene.statistics('q')).oldestReadyAgeMs, minute)
  })

  suite.test('a handler can emit one', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'first')
    const { receipt } = await scene.receiveOne('q')
    const emit = { queue: 'q', message: { body: 'second', delayMs: 40 * day } }
    await scene.settle('q', receipt, { kind: 'acknowledge' }, [emit])
    await scene.advance(40 * day)
    assert.deepEqual(await scene.receiveBodies('q'), ['second'])
  })
}

function describeTimes(suite: ContractSuite): void {
  suite.test('a message can say when it is due', async (scene) => {
    const runAt = (await storeTime(scene, 'q')) + 40 * day
    await scene.send('q', { body: 'x', runAt })
    assert.equal(only(await scene.peek('q', 'delayed')).dueAt, runAt)
    await scene.advance(40 * day)
    assert.deepEqual(await scene.receiveBodies('q'), ['x'])
  })

  suite.test('a time in the past means at once, whatever the delay of the queue', async (scene) => {
    const runAt = (await storeTime(scene, 'q')) - day
    await scene.backend.changeQueue({ queue: 'q', changes: { delayMs: minute } })
    await scene.send('q', { body: 'x', runAt })
    assert.deepEqual(await scene.receiveBodies('q'), ['x'])
  })

  suite.test('a value that is not a time, or too far away, is refused', async (scene) => {
    const now = await storeTime(scene, 'q')
    const flawed: Partial<NewMessage>[] = [
      { runAt: now + tenYears + minute },
      { runAt: Number.NaN },
      { runAt: -1 },
      { runAt: now + 0.5 },
      { runAt: now, delayMs: 1 },
    ]
    for (const flaw of flawed) {
      assertRefused(await scene.sendOne('q', { body: 'x', ...flaw }), 'invalid_argument')
    }
    created(await scene.sendOne('q', { body: 'x', runAt: now + tenYears }))
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 1 })
  })

  suite.needing('fifo').test('a FIFO queue takes none', async (scene) => {
    const now = await storeTime(scene, 'q')
    await scene.fifoQueue('q.fifo')
    const message = { body: 'x', group: 'g', deduplicationId: 'd', runAt: now + day }
    assertRefused(await scene.sendOne('q.fifo', message), 'invalid_argument')
  })
}

function describeKept(suite: ContractSuite): void {
  suite
    .needing('exactFigures')
    .test('after a long delay a message is kept for the retention', async (scene) => {
      await scene.queue('q', { retentionMs: minute })
      await scene.send('q', { body: 'x', delayMs: day })
      await scene.advance(day + minute - second)
      await scene.sweep()
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
      await scene.advance(second)
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
      assert.deepEqual(await scene.receiveBodies('q'), [])
      assert.equal((await scene.statistics('q')).totals.expired, 1)
    })

  suite.test('a change of the retention counts for it', async (scene) => {
    await scene.queue('q', { retentionMs: minute })
    const change = (retentionMs: number): Promise<unknown> =>
      scene.backend.changeQueue({ queue: 'q', changes: { retentionMs } })
    await scene.send('q', { body: 'x', delayMs: day })
    await change(10 * minute)
    await scene.advance(day + 5 * minute)
    assert.equal((await scene.counts('q')).ready, 1)
    await change(5 * minute)
    assert.equal((await scene.counts('q')).ready, 0)
  })

  suite.needing('exactFigures').test('others expire before and after it', async (scene) => {
    await scene.queue('q', { retentionMs: 10 * minute })
    await scene.send('q', 'before')
    await scene.send('q', { body: 'delayed', delayMs: 16 * minute })
    await scene.send('q', 'after')
    await scene.advance(16 * minute)
    for (const body of ['young', 'younger']) await scene.send('q', body)
    assert.equal((await scene.counts('q')).ready, 3)
    await scene.sweep()
    assert.deepEqual(await scene.peekBodies('q', 'ready'), ['delayed', 'young', 'younger'])
    await scene.advance(10 * minute)
    assert.equal((await scene.counts('q')).ready, 0)
    await scene.sweep()
    assert.deepEqual(await scene.peekBodies('q', 'ready'), [])
    assert.equal((await scene.statistics('q')).totals.expired, 5)
  })

  suite
    .needing('exactFigures')
    .test('its dead letter is kept from the end of the delay', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      await scene.backend.changeQueue({ queue: dead, changes: { retentionMs: minute } })
      await scene.send('q', { body: 'x', delayMs: 40 * day })
      await scene.advance(40 * day)
      const { receipt } = await scene.receiveOne('q')
      await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'broken' })
      await scene.advance(minute - second)
      assert.equal((await scene.counts(dead)).ready, 1)
      await scene.advance(second)
      assert.equal((await scene.counts(dead)).ready, 0)
      await scene.sweep()
      assert.equal((await scene.statistics(dead)).totals.expired, 1)
    })
}
