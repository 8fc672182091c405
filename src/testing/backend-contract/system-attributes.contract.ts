/** What surfaces keep beside a message, such as its trace context, stays with it on every way. */
import assert from 'node:assert/strict'
import {
  begunBatch,
  collectorsOf,
  itemsRequest,
  openCollector,
  readKey,
  receiveTrigger,
  windowMs,
} from './collector-scene.ts'
import { acknowledge, createFlowQueues, openFlow } from './flow-scene.ts'
import { enqueue, jobsOf, ocrJob, runOnce } from './job-scene.ts'
import { rejects } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const systemAttributes = { traceparent: '00-1-2-01', sender: 'me' }

export function describeSystemAttributes(all: ContractSuite): void {
  all.describe('system attributes', () => {
    describeOfJobs(all.needing('trackedJobs'))
    describeOfItems(all.needing('collectors'))
    describeOfFlows(all.needing('flows', 'trackedJobs'))
  })
}

function describeOfJobs(suite: ContractSuite): void {
  suite.test('a job keeps its system attributes until it is dead-lettered', async (scene) => {
    await scene.queueWithDeadLetters('q', 2)
    await enqueue(scene, { systemAttributes, maxAttempts: 2 })
    await enqueue(scene, { systemAttributes, tenant: 'g' })
    await runOnce(scene, { kind: 'retry', delayMs: 0 })
    for (const delivery of await scene.receive('q', { max: 2 })) {
      assert.deepEqual({ ...delivery.systemAttributes }, systemAttributes)
      const outcome = { kind: 'deadLetter', reason: 'no' } as const
      await scene.settle('q', delivery.receipt, outcome)
    }
    const letters = await scene.peek('q-dead', 'ready')
    assert.deepEqual(
      letters.map((letter) => ({ ...letter.systemAttributes })),
      [systemAttributes, systemAttributes],
    )
  })

  suite.test('a job that is retried has the system attributes of that call', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { systemAttributes: { sender: 'first' } })
    await runOnce(scene, { kind: 'deadLetter', reason: 'no' })
    await jobsOf(scene).retry({ id, systemAttributes: { sender: 'second' } })
    const again = await scene.receiveOne('q')
    assert.deepEqual({ ...again.systemAttributes }, { sender: 'second' })
    await scene.settle('q', again.receipt, { kind: 'deadLetter', reason: 'no' })
    await jobsOf(scene).retry({ id: again.job?.id ?? '' })
    assert.deepEqual({ ...(await scene.receiveOne('q')).systemAttributes }, {})
  })

  suite.test('system attributes of a job that are not strings are refused', async (scene) => {
    await scene.queue('q')
    const systemAttributes = { sender: 7 } as unknown as Record<string, string>
    await rejects(enqueue(scene, { systemAttributes }), 'invalid_argument')
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
  })
}

function describeOfItems(suite: ContractSuite): void {
  suite.test('an item keeps its system attributes until it is merged', async (scene) => {
    await openCollector(scene)
    const request = itemsRequest('ann', ['a', 'b'])
    const items = request.items.map((item) =>
      item.id === 'a' ? { ...item, systemAttributes } : item,
    )
    await collectorsOf(scene).add({ ...request, items })
    const shown = (await readKey(scene, 'ann'))?.items ?? []
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    for (const staged of [shown, await begunBatch(scene, 'ann', receipt)]) {
      assert.deepEqual(
        staged.map((item) => [item.id, { ...item.systemAttributes }]),
        [
          ['a', systemAttributes],
          ['b', {}],
        ],
      )
    }
  })
}

function describeOfFlows(suite: ContractSuite): void {
  suite.test('a flow keeps those of its units and of its end', async (scene) => {
    await createFlowQueues(scene)
    const job = { queue: 'work', job: { ...ocrJob, systemAttributes } }
    const finalize = { queue: 'ends', message: { body: 'end', systemAttributes } }
    const units = [{ id: 'a', work: job }]
    await openFlow(scene, units, { finalize })
    const first = await scene.receiveOne('work')
    assert.deepEqual({ ...first.systemAttributes }, systemAttributes)
    await scene.settle('work', first.receipt, acknowledge)
    assert.deepEqual({ ...(await scene.receiveOne('ends')).systemAttributes }, systemAttributes)
  })
}
