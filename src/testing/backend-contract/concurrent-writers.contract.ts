/**
 * What only several writers at once can break. Three connections of one store do the same things at the
 * same moment, as three processes would.
 */
import assert from 'node:assert/strict'
import type { Backend, Delivery } from '../../backends/backend.ts'
import { collector, itemsRequest, leaseMs, openCollector, triggers } from './collector-scene.ts'
import { createFlowQueues, opening, pages } from './flow-scene.ts'
import { grouped, minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const rounds = 12

export function describeConcurrentWriters(all: ContractSuite): void {
  const suite = all.needing('openAnother')
  suite.describe('several writers at once', () => {
    suite.test('receives of a standard queue share its messages', async (scene) => {
      await scene.queue('q')
      const bodies = Array.from({ length: 60 }, (_, index) => `m${index}`)
      await scene.send('q', ...bodies)
      const received = await onEach(scene, 4, (backend) => backend.receive({ queue: 'q', max: 5 }))
      const found = received.flat().map(({ body }) => body)
      assert.equal(new Set(found).size, found.length)
      const rest: string[] = []
      for (;;) {
        const more = await scene.receiveBodies('q')
        if (more.length === 0) break
        rest.push(...more)
      }
      assert.deepEqual([...found, ...rest].sort(), bodies.sort())
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 60, delayed: 0 })
    })

    suite.test('a lease that lapsed is ended once', async (scene) => {
      await scene.queue('q', { visibilityMs: second })
      await scene.send('q', ...Array.from({ length: 30 }, (_, index) => `m${index}`))
      await scene.receive('q')
      await scene.advance(minute)
      await onEach(scene, 2, async (backend) => {
        await backend.sweep()
        await backend.receive({ queue: 'q', max: 3, visibilityMs: 10 * minute })
      })
      const { ready, leased } = await scene.counts('q')
      const [inReady, inLeased] = [await scene.peek('q', 'ready'), await scene.peek('q', 'leased')]
      assert.deepEqual([ready, leased], [inReady.length, inLeased.length])
      assert.equal(ready + leased, 30)
    })

    suite.test('a purge next to sends leaves what is counted', async (scene) => {
      await scene.queue('q')
      for (let round = 0; round < rounds; round += 1) {
        const sends = onEach(scene, 8, (backend) =>
          backend.send({ queue: 'q', messages: [{ body: 'sent' }] }),
        )
        await scene.backend.purgeQueue({ queue: 'q' })
        await sends
        const { ready } = await scene.counts('q')
        assert.equal((await scene.peek('q', 'ready')).length, ready)
        await scene.advance(2 * minute)
      }
    })

    suite.test('a lease is settled once', async (scene) => {
      await scene.queue('q')
      for (let round = 0; round < rounds; round += 1) {
        await scene.send('q', 'once')
        const { receipt } = await scene.receiveOne('q')
        const outcome = { kind: 'acknowledge' } as const
        const settlements = [{ receipt, outcome }]
        const results = await onEach(scene, 1, (backend) =>
          backend.settle({ queue: 'q', settlements }),
        )
        const settled = results.flat().filter(({ status }) => status === 'settled')
        assert.equal(settled.length, 1)
      }
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    })

    suite
      .needing('fifo')
      .test('a FIFO group has one receiver, and keeps its order', async (scene) => {
        await scene.fifoQueue('q.fifo')
        const bodies = Array.from({ length: 30 }, (_, index) => `m${index}`)
        for (const body of bodies) await scene.send('q.fifo', grouped('g', body))
        const order: string[] = []
        while (order.length < bodies.length) {
          const received = await onEach(scene, 1, (backend) =>
            backend.receive({ queue: 'q.fifo', max: 1 }),
          )
          const found = received.flat()
          assert.equal(found.length, 1, 'the group was given out twice, or not at all')
          for (const { body, receipt } of found) {
            order.push(body)
            await scene.acknowledge('q.fifo', receipt)
          }
        }
        assert.deepEqual(order, bodies)
      })

    suite.needing('fifo').test('sends of one deduplication id store one message', async (scene) => {
      await scene.fifoQueue('q.fifo')
      for (let round = 0; round < rounds; round += 1) {
        const message = { body: 'same', group: 'g', deduplicationId: `id-${round}` }
        const sent = await onEach(scene, 2, (backend) =>
          backend.send({ queue: 'q.fifo', messages: [message] }),
        )
        const statuses = sent.flat().map(({ status }) => status)
        assert.equal(statuses.filter((status) => status === 'created').length, 1)
      }
      assert.equal((await scene.counts('q.fifo')).ready, rounds)
    })

    suite.needing('trackedJobs').test('equal idempotency keys make one job', async (scene) => {
      await scene.queue('q')
      for (let round = 0; round < rounds; round += 1) {
        const job = { type: 'OCR', payload: '1', idempotency: { key: `key-${round}` } }
        const enqueued = await onEach(scene, 3, async ({ jobs }) =>
          jobs === null ? [] : jobs.enqueue({ queue: 'q', jobs: [job] }),
        )
        const all = enqueued.flat()
        assert.equal(all.filter(({ status }) => status === 'created').length, 1)
        assert.equal(new Set(all.map(({ id }) => id)).size, 1)
      }
      assert.equal((await scene.counts('q')).ready, rounds)
    })

    suite.needing('ceilings').test('a ceiling holds for all receivers together', async (scene) => {
      const ceilings = { ...noCeilings, running: 3 }
      await scene.queue('q', { ceilings })
      await scene.send('q', ...Array.from({ length: 30 }, (_, index) => `m${index}`))
      for (let round = 0; round < 6; round += 1) {
        const received = await onEach(scene, 2, (backend) =>
          backend.receive({ queue: 'q', max: 2 }),
        )
        const found = received.flat()
        assert.ok(found.length <= 3, `${found.length} run at once`)
        await acknowledgeAll(scene, 'q', found)
      }
    })

    suite.needing('ceilings').test('a rate holds for all receivers together', async (scene) => {
      const ceilings = { ...noCeilings, rate: { max: 5, perMs: minute } }
      await scene.queue('q', { ceilings })
      await scene.send('q', ...Array.from({ length: 30 }, (_, index) => `m${index}`))
      const received = await onEach(scene, 3, (backend) => backend.receive({ queue: 'q', max: 2 }))
      assert.equal(received.flat().length, 5)
    })

    suite.needing('flows').test('of two last marks, one ends the flow', async (scene) => {
      await createFlowQueues(scene)
      for (let round = 0; round < rounds; round += 1) {
        const id = `book-${round}`
        const units = ['a', 'b', 'c'].map((unit) => ({ id: unit }))
        await scene.backend.flows?.open(opening(units, { id }))
        const marks = ['a', 'b', 'c']
        await onEach(scene, 1, async ({ flows }, index) => {
          const unit = marks[index] ?? 'c'
          await flows?.mark({ ...pages, id, marks: [{ unit, state: 'done' }] })
        })
        const record = await scene.backend.flows?.read({ ...pages, id })
        assert.equal(record?.status, 'finalized', `${id} has not ended`)
      }
      assert.equal((await scene.counts('ends')).ready, rounds)
    })

    suite.needing('flows').test('equal flows are opened once', async (scene) => {
      await createFlowQueues(scene)
      for (let round = 0; round < rounds; round += 1) {
        const id = `book-${round}`
        const request = opening([{ id: 'a', work: { queue: 'work', message: { body: 'a' } } }], {
          id,
        })
        const opened = await onEach(scene, 1, async ({ flows }) => flows?.open(request))
        assert.equal(opened.filter((one) => one?.status === 'created').length, 1)
      }
      assert.equal((await scene.counts('work')).ready, rounds)
    })

    suite.needing('collectors').test('items are merged once, whenever they come', async (scene) => {
      await openCollector(scene)
      const added: string[] = []
      const found: string[] = []
      for (let round = 0; round < rounds; round += 1) {
        await onEach(scene, 1, async ({ collectors }, index) => {
          const id = `item-${round}-${index}`
          added.push(id)
          await collectors?.add(itemsRequest('ann', [id]))
        })
        await scene.advance(minute)
        const [trigger] = await scene.receive(triggers, { max: 1, visibilityMs: leaseMs })
        if (trigger === undefined) continue
        const { receipt } = trigger
        const begin = {
          collector,
          key: 'ann',
          queue: triggers,
          receipt,
          maxItems: 100,
          maxBytes: 1e6,
        }
        const [begun] = await Promise.all([
          scene.backend.collectors?.begin(begin),
          ...(await others(scene)).map(({ collectors }, index) => {
            const id = `late-${round}-${index}`
            added.push(id)
            return collectors?.add(itemsRequest('ann', [id]))
          }),
        ])
        if (begun?.status !== 'begun') continue
        found.push(...begun.items.map(({ id }) => id))
        const outcome = { kind: 'acknowledge' } as const
        const batch = { collector, key: 'ann' }
        const settlements = [{ receipt, outcome, batch }]
        await scene.backend.settle({ queue: triggers, settlements })
      }
      const left = await scene.backend.collectors?.read({ collector, key: 'ann', limit: 1_000 })
      const staged = left?.items.map(({ id }) => id) ?? []
      assert.deepEqual([...found, ...staged].sort(), added.sort())
    })

    suite.needing('schedules').test('a tick is sent once', async (scene) => {
      await scene.queue('q')
      const name = { schedule: 'app-dev-nightly' }
      const scope = 'app-dev'
      const rule = 'every minute'
      const start = (await scene.backend.schedules?.now()) ?? 0
      await scene.backend.schedules?.ensure({ ...name, scope, rule, nextAt: start + minute })
      for (let round = 1; round <= rounds; round += 1) {
        await scene.advance(minute)
        const dueAt = start + round * minute
        const tick = {
          ...name,
          rule,
          definition: null,
          dueAt,
          nextAt: dueAt + minute,
          at: dueAt,
          skipped: 0,
          emission: { queue: 'q', message: { body: `tick ${round}` } },
        }
        const results = await onEach(scene, 1, async ({ schedules }) =>
          schedules === null ? [] : schedules.tick({ ticks: [tick] }),
        )
        const ticked = results.flat().filter(({ status }) => status === 'ticked')
        assert.equal(ticked.length, 1)
      }
      assert.equal((await scene.counts('q')).ready, rounds)
    })

    suite.test('a redrive next to receives neither loses nor doubles a message', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      const bodies = Array.from({ length: 40 }, (_, index) => `m${index}`)
      await scene.send('q', ...bodies)
      for (let taken = 0; taken < bodies.length; ) {
        taken += (await scene.receive('q', { visibilityMs: second })).length
      }
      await scene.advance(minute)
      await scene.receive('q')
      assert.equal((await scene.counts(dead)).ready, bodies.length)
      await scene.backend.startMoveTask({ source: dead })
      const received: Delivery[] = []
      await onEach(scene, 3, async (backend, index) => {
        if (index % 2 === 0) received.push(...(await backend.receive({ queue: dead, max: 3 })))
        await backend.sweep()
      })
      for (let more = true; more; ) more = (await scene.backend.sweep()).more
      const moved = await scene.peek('q', 'ready')
      const all = [...moved, ...received].map(({ body }) => body)
      assert.deepEqual(all.sort(), bodies.sort())
      assert.equal((await scene.counts('q')).ready, moved.length)
    })
  })
}

const noCeilings = {
  running: null,
  runningPerTenant: null,
  runningPerType: {},
  rate: null,
  perKey: [],
} as const

/** Calls on three connections at the same moment, so often on each; the index counts all calls. */
async function onEach<T>(
  scene: Scene,
  times: number,
  call: (backend: Backend, index: number) => Promise<T>,
): Promise<readonly T[]> {
  const backends = [scene.backend, ...(await others(scene))]
  const calls = Array.from({ length: times }, () => backends).flat()
  return Promise.all(calls.map((backend, index) => call(backend, index)))
}

/** Two more connections to the store of the scene. */
async function others(scene: Scene): Promise<readonly Backend[]> {
  return [await scene.another(0), await scene.another(1)]
}

async function acknowledgeAll(
  scene: Scene,
  queue: string,
  deliveries: readonly Delivery[],
): Promise<void> {
  for (const { receipt } of deliveries) await scene.acknowledge(queue, receipt)
}
