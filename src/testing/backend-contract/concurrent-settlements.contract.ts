/** What several receivers at once can break when they end leases. */
import assert from 'node:assert/strict'
import { onEach, rounds } from './concurrent-scene.ts'
import { minute, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeConcurrentSettlements(all: ContractSuite): void {
  const suite = all.needing('openAnother')
  suite.describe('several receivers at once', () => {
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

    for (const kind of ['acknowledge', 'release', 'retry'] as const) {
      suite.test(`400 leases end once by ${kind}, in whichever order`, async (scene) => {
        await scene.queue('q')
        const bodies = Array.from({ length: 400 }, (_, index) => `m${index}`)
        await scene.send('q', ...bodies)
        const receipts: string[] = []
        while (receipts.length < bodies.length) {
          const deliveries = await scene.receive('q', { max: 100 })
          receipts.push(...deliveries.map(({ receipt }) => receipt))
        }
        const outcome = kind === 'retry' ? { kind, delayMs: 0 } : { kind }
        const orders = [receipts, receipts.toReversed(), receipts]
        const results = await onEach(scene, 1, async (backend, index) => {
          const order = orders[index] ?? receipts
          const settlements = order.map((receipt) => ({ receipt, outcome }))
          const settled = await backend.settle({ queue: 'q', settlements })
          return order.filter((_, place) => settled[place]?.status === 'settled')
        })
        assert.deepEqual(results.flat().sort(), receipts.toSorted(), 'not all were settled once')
        const ready = kind === 'acknowledge' ? 0 : bodies.length
        assert.deepEqual(await scene.counts('q'), { ready, leased: 0, delayed: 0 })
        const counted = kind === 'release' ? 0 : 1
        for (const { receiveCount } of await scene.peek('q', 'ready')) {
          assert.equal(receiveCount, counted)
        }
      })
    }

    suite.test('releases of one call each find their own lease, and no other', async (scene) => {
      await scene.queue('q', { visibilityMs: minute })
      await scene.send('q', 'live', 'stale', 'lapsed', 'gone', 'live too')
      const short = { max: 3, visibilityMs: second }
      const early = new Map((await scene.receive('q', short)).map((one) => [one.body, one.receipt]))
      await scene.advance(2 * second)
      const late = new Map<string, string>()
      while (late.size < 5) {
        for (const { body, receipt } of await scene.receive('q')) late.set(body, receipt)
      }
      await scene.acknowledge('q', late.get('gone') ?? '')
      await scene.backend.extend({
        queue: 'q',
        leases: [{ receipt: late.get('lapsed') ?? '', visibilityMs: second }],
      })
      await scene.advance(2 * second)
      const receipts = [
        late.get('live'),
        early.get('stale'),
        late.get('lapsed'),
        late.get('gone'),
        late.get('live too'),
      ]
      const outcome = { kind: 'release' } as const
      const settlements = receipts.map((receipt = '') => ({ receipt, outcome }))
      const results = await onEach(scene, 1, (backend) =>
        backend.settle({ queue: 'q', settlements }),
      )
      const expected = ['settled', 'stale', 'lapsed', 'gone', 'settled']
      for (const [place, status] of expected.entries()) {
        const found = results.map((answers) => answers[place]?.status)
        const first = found.filter((one) => one === status)
        // Only one call ends a live lease; what it finds of the others does not depend on it.
        assert.equal(first.length, status === 'settled' ? 1 : 3, `${status}: ${found.join(', ')}`)
      }
      assert.deepEqual(await scene.counts('q'), { ready: 3, leased: 1, delayed: 0 })
    })
  })
}
