import assert from 'node:assert/strict'
import type { Delivery } from '../../backends/backend.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeLongPolling(suite: ContractSuite): void {
  suite.describe('long polling', () => {
    describeWaking(suite)
    describeLeaving(suite)
  })
}

const waitMs = limits.receiveWaitMs.max

/** A parked receive whose end the test can look at without waiting for it. */
async function park(
  scene: Scene,
  options: { readonly queue?: string; readonly waitMs?: number } = {},
) {
  const state: { bodies: string[] | undefined } = { bodies: undefined }
  const { queue = 'q', ...rest } = options
  const answer = scene.receive(queue, { max: 1, waitMs, ...rest }).then((deliveries) => {
    state.bodies = deliveries.map(({ body }) => body)
    return deliveries
  })
  await scene.advance(0)
  return { answer, state }
}

function describeWaking(suite: ContractSuite): void {
  suite.test('a waiting receive is woken by a send', async (scene) => {
    await scene.queue('q')
    const { answer, state } = await park(scene)
    await scene.advance(5 * second)
    assert.equal(state.bodies, undefined)
    await scene.send('q', 'news')
    const [delivery] = await answer
    assert.deepEqual([delivery?.body, delivery?.receiveCount], ['news', 1])
  })

  suite.test('a waiting receive is woken by the end of a delay', async (scene) => {
    await scene.queue('q')
    await scene.send('q', { body: 'later', delayMs: 5 * second })
    const { answer, state } = await park(scene)
    await scene.advance(4 * second)
    assert.equal(state.bodies, undefined)
    await scene.advance(2 * second)
    assert.deepEqual(state.bodies, ['later'])
    await answer
  })

  suite.test('a waiting receive is woken by a lease that lapses', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'held')
    await scene.receiveOne('q', { visibilityMs: 5 * second })
    const { answer, state } = await park(scene)
    await scene.advance(4 * second)
    assert.equal(state.bodies, undefined)
    await scene.advance(2 * second)
    assert.deepEqual(state.bodies, ['held'])
    await answer
  })

  suite.test(
    'a waiting receive is woken by a retry, a release and a lease cut short',
    async (scene) => {
      await scene.queue('q')
      for (const handBack of [
        (receipt: string) => scene.settle('q', receipt, { kind: 'retry', delayMs: 0 }),
        (receipt: string) => scene.settle('q', receipt, { kind: 'release' }),
        (receipt: string) => scene.extend('q', receipt, 0),
      ]) {
        await scene.send('q', 'body')
        const { receipt } = await scene.receiveOne('q')
        const { answer } = await park(scene)
        await handBack(receipt)
        const [delivery] = await answer
        assert.equal(delivery?.body, 'body')
        await scene.acknowledge('q', delivery.receipt)
      }
    },
  )

  suite.test('a lease extended meanwhile does not wake, its new end does', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'held')
    const { receipt } = await scene.receiveOne('q', { visibilityMs: 5 * second })
    const { answer, state } = await park(scene)
    await scene.extend('q', receipt, 10 * second)
    await scene.advance(8 * second)
    assert.equal(state.bodies, undefined)
    await scene.advance(3 * second)
    assert.deepEqual(state.bodies, ['held'])
    await answer
  })

  suite
    .needing('fifo')
    .test('a waiting receive is woken when a group is free again', async (scene) => {
      await scene.fifoQueue('q.fifo')
      await scene.sendToGroup('q.fifo', 'g', 'head', 'next')
      const head = await scene.receiveOne('q.fifo')
      const { answer, state } = await park(scene, { queue: 'q.fifo' })
      await scene.advance(second)
      assert.equal(state.bodies, undefined)
      await scene.acknowledge('q.fifo', head.receipt)
      const [delivery] = await answer
      assert.equal(delivery?.body, 'next')
    })

  suite.test(
    'the queue says how long a receive waits that does not say so itself',
    async (scene) => {
      await scene.queue('q', { receiveWaitMs: 10 * second })
      let answered = false
      const answer = scene.backend.receive({ queue: 'q', max: 1 }).then((deliveries) => {
        answered = true
        return deliveries
      })
      await scene.advance(9 * second)
      assert.equal(answered, false)
      await scene.advance(2 * second)
      assert.deepEqual(await answer, [])
      assert.deepEqual(await scene.receive('q', { waitMs: 0 }), [])
    },
  )

  suite.test('a wait that ends without a message returns none', async (scene) => {
    await scene.queue('q')
    const { answer, state } = await park(scene, { waitMs: 10 * second })
    await scene.advance(9 * second)
    assert.equal(state.bodies, undefined)
    await scene.advance(2 * second)
    assert.deepEqual(state.bodies, [])
    assert.deepEqual(await answer, [])
    await scene.send('q', 'too late')
    assert.equal((await scene.receiveOne('q')).receiveCount, 1)
  })

  suite.test('waiting receives are served in the order in which they came', async (scene) => {
    await scene.queue('q')
    const first = await park(scene)
    const next = await park(scene)
    const last = await park(scene)
    await scene.send('q', 'one')
    await first.answer
    assert.deepEqual([first.state.bodies, next.state.bodies], [['one'], undefined])
    await scene.send('q', 'two', 'three')
    await Promise.all([next.answer, last.answer])
    assert.deepEqual([next.state.bodies, last.state.bodies], [['two'], ['three']])
  })

  suite.test('a send to another queue wakes no receive', async (scene) => {
    await scene.queue('q')
    await scene.queue('q2')
    const { answer, state } = await park(scene, { waitMs: 5 * second })
    await scene.send('q2', 'elsewhere')
    await scene.advance(second)
    assert.equal(state.bodies, undefined)
    await scene.advance(5 * second)
    assert.deepEqual(await answer, [])
  })
}

function describeLeaving(suite: ContractSuite): void {
  /** A caller that left gets nothing, or `aborted`; it never gets a message. */
  const left = async (answer: Promise<readonly Delivery[]>): Promise<void> => {
    const deliveries = await answer.catch((error: unknown) => {
      assert.ok(error instanceof MillraceError && error.code === 'aborted', String(error))
      return []
    })
    assert.deepEqual(deliveries, [])
  }

  suite.test(
    'a caller that leaves takes its receive back, and no receive is charged',
    async (scene) => {
      await scene.queue('q')
      const leaving = new AbortController()
      const answer = scene.receive('q', { waitMs, signal: leaving.signal })
      await scene.advance(second)
      leaving.abort()
      await left(answer)
      await scene.send('q', 'body')
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
      assert.equal((await scene.receiveOne('q')).receiveCount, 1)
    },
  )

  suite.test('a caller that leaves lets the next one through', async (scene) => {
    await scene.queue('q')
    const leaving = new AbortController()
    const gone = left(scene.receive('q', { max: 1, waitMs, signal: leaving.signal }))
    const staying = await park(scene)
    leaving.abort()
    await scene.send('q', 'body')
    await gone
    const [delivery] = await staying.answer
    assert.deepEqual([delivery?.body, delivery?.receiveCount], ['body', 1])
  })

  suite.test('a caller that had left before it called gets nothing', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'body')
    await left(scene.receive('q', { waitMs, signal: AbortSignal.abort() }))
    assert.equal((await scene.receiveOne('q')).receiveCount, 1)
  })

  suite.test('deleting the queue ends the receives that wait on it', async (scene) => {
    await scene.queue('q')
    const answer = scene.receive('q', { waitMs }).catch((error: unknown) => error)
    await scene.advance(second)
    await scene.backend.deleteQueue({ queue: 'q' })
    await scene.advance(waitMs)
    const end = await answer
    const ended = end instanceof MillraceError ? end.code === 'queue_not_found' : true
    assert.ok(ended, String(end))
  })
  suite.test('a queue that is deleted and created again is another one', async (scene) => {
    const recreate: ((scene: Scene) => Promise<unknown>)[] = [
      async ({ backend }) => {
        await backend.deleteQueue({ queue: 'q' })
        await scene.queue('q')
        await scene.send('q', 'of the successor')
      },
      // In one commit, where the backend shares commits.
      async ({ backend }) => {
        await Promise.all([backend.deleteQueue({ queue: 'q' }), scene.queue('q')])
        await scene.send('q', 'of the successor')
      },
    ]
    await scene.queue('q')
    for (const run of recreate) {
      const old = [scene.receive('q', { waitMs }), scene.receive('q', { waitMs, max: 1 })]
      const ends = Promise.allSettled(old)
      await scene.advance(second)
      await run(scene)
      await scene.advance(second)
      for (const end of await ends) {
        assert.equal(end.status, 'rejected')
        assert.ok(end.reason instanceof MillraceError)
        assert.equal(end.reason.code, 'queue_not_found')
      }
      const { body, receipt, receiveCount } = await scene.receiveOne('q', { waitMs })
      assert.deepEqual([body, receiveCount], ['of the successor', 1])
      await scene.acknowledge('q', receipt)
    }
  })

  suite.test('a receive that comes afterwards waits on the successor', async (scene) => {
    await scene.queue('q')
    const old = scene.receive('q', { waitMs }).catch((error: unknown) => error)
    await scene.advance(second)
    await scene.backend.deleteQueue({ queue: 'q' })
    await scene.queue('q')
    const { answer } = await park(scene)
    await scene.send('q', 'body')
    const [delivery] = await answer
    assert.equal(delivery?.body, 'body')
    assert.ok((await old) instanceof MillraceError)
  })

  suite.test('purging the queue does not end the receives that wait on it', async (scene) => {
    await scene.queue('q')
    const { answer } = await park(scene)
    await scene.backend.purgeQueue({ queue: 'q' })
    await scene.advance(second)
    await scene.send('q', 'after the purge')
    const [delivery] = await answer
    assert.equal(delivery?.body, 'after the purge')
  })
}
