import assert from 'node:assert/strict'
import type { Delivery } from '../../backends/backend.ts'
import { enqueue, readJob } from './job-scene.ts'
import { minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeLateAcknowledgements(suite: ContractSuite): void {
  suite.describe('a late acknowledgement', () => describeLateAcknowledgement(suite))
}

async function leasedOne(scene: Scene): Promise<Delivery> {
  await scene.queue('q', { visibilityMs: 10 * second })
  await scene.send('q', 'body')
  return await scene.receiveOne('q')
}

function describeLateAcknowledgement(suite: ContractSuite): void {
  suite.test(
    'on a standard queue a late acknowledgement counts while no other receiver has the message',
    async (scene) => {
      const { receipt } = await leasedOne(scene)
      await scene.advance(11 * second)
      assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
      assert.deepEqual(await scene.receiveBodies('q'), [])
    },
  )

  suite
    .needing('lateReceipts')
    .test(
      'where any lease will do, an old receipt acknowledges nothing while another lease is live',
      async (scene) => {
        const { receipt: old } = await leasedOne(scene)
        await scene.advance(11 * second)
        const { receipt: current } = await scene.receiveOne('q')
        assert.deepEqual(await scene.acknowledge('q', old), { status: 'stale' })
        const anyLease = { kind: 'acknowledge', anyLease: true } as const
        const held = { status: 'stale', isHeld: true }
        assert.deepEqual(await scene.settle('q', old, anyLease), held)
        assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
        assert.equal((await scene.acknowledge('q', current)).status, 'settled')
        assert.deepEqual(await scene.settle('q', old, anyLease), { status: 'gone' })
        assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
      },
    )

  suite.test(
    'where any lease will do, an old receipt acknowledges once the later lease has ended',
    async (scene) => {
      const anyLease = { kind: 'acknowledge', anyLease: true } as const
      const { receipt: old } = await leasedOne(scene)
      await scene.advance(11 * second)
      await scene.receiveOne('q')
      await scene.advance(11 * second)
      assert.equal((await scene.settle('q', old, anyLease)).status, 'settled')
      // A message that waits for its retry is leased, but no receiver holds it.
      await scene.send('q', 'again')
      const { receipt: first } = await scene.receiveOne('q')
      await scene.advance(11 * second)
      const { receipt: second_ } = await scene.receiveOne('q')
      await scene.settle('q', second_, { kind: 'retry', delayMs: minute })
      assert.equal((await scene.settle('q', first, anyLease)).status, 'settled')
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    },
  )

  const jobSuite = suite.needing('trackedJobs')
  jobSuite.test(
    'an old receipt of a job acknowledges nothing, whatever is asked',
    async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      const { id } = await enqueue(scene)
      const { receipt: old } = await scene.receiveOne('q')
      await scene.advance(11 * second)
      await scene.receiveOne('q')
      const anyLease = { kind: 'acknowledge', anyLease: true } as const
      assert.deepEqual(await scene.settle('q', old, anyLease), { status: 'stale' })
      assert.equal((await readJob(scene, id)).status, 'processing')
    },
  )

  suite.test('a late retry, release or dead-letter changes nothing', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 5, { visibilityMs: 10 * second })
    await scene.send('q', 'body')
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(11 * second)
    for (const outcome of [
      { kind: 'retry', delayMs: minute },
      { kind: 'release' },
      { kind: 'deadLetter', reason: 'late' },
    ] as const) {
      assert.deepEqual(await scene.settle('q', receipt, outcome), { status: 'lapsed' })
    }
    assert.equal((await scene.counts(dead)).ready, 0)
    assert.equal((await scene.receiveOne('q')).receiveCount, 2)
  })

  suite.needing('fifo').test('on a FIFO queue an old receipt never acknowledges', async (scene) => {
    await scene.fifoQueue('q.fifo', { visibilityMs: 10 * second })
    await scene.sendToGroup('q.fifo', 'g', 'body')
    const { receipt: old } = await scene.receiveOne('q.fifo')
    await scene.advance(11 * second)
    const anyLease = { kind: 'acknowledge', anyLease: true } as const
    assert.deepEqual(await scene.settle('q.fifo', old, anyLease), { status: 'lapsed' })
    await scene.receiveOne('q.fifo')
    assert.deepEqual(await scene.settle('q.fifo', old, anyLease), { status: 'stale' })
  })

  suite.needing('fifo').test('on a FIFO queue a late acknowledgement is refused', async (scene) => {
    await scene.fifoQueue('q.fifo', { visibilityMs: 10 * second })
    await scene.sendToGroup('q.fifo', 'g', 'body')
    const { receipt } = await scene.receiveOne('q.fifo')
    await scene.advance(11 * second)
    assert.deepEqual(await scene.acknowledge('q.fifo', receipt), { status: 'lapsed' })
    assert.deepEqual(await scene.receiveBodies('q.fifo'), ['body'])
    assert.deepEqual(await scene.acknowledge('q.fifo', receipt), { status: 'stale' })
  })
}
