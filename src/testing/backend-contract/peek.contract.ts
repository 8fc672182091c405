import assert from 'node:assert/strict'
import { minute, only, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describePeek(all: ContractSuite): void {
  const suite = all.needing('peek')

  suite.describe('peeking', () => {
    suite.test('each state shows its own messages', async (scene) => {
      await scene.queue('q')
      const attributes = { raw: { type: 'Binary', value: Uint8Array.of(0, 255) } }
      await scene.send(
        'q',
        'held',
        { body: 'free', attributes },
        { body: 'later', delayMs: minute },
      )
      const held = await scene.receiveOne('q')
      const ready = only(await scene.peek('q', 'ready'))
      assert.deepEqual(
        [ready.body, ready.state, ready.dueAt, ready.receiveCount],
        ['free', 'ready', null, 0],
      )
      assert.deepEqual([...(ready.attributes['raw']?.value ?? [])], [0, 255])
      assert.equal(ready.firstReceivedAt, null)
      const leased = only(await scene.peek('q', 'leased'))
      assert.deepEqual(
        [leased.id, leased.body, leased.state, leased.dueAt, leased.receiveCount],
        [held.id, 'held', 'leased', held.leaseExpiresAt, 1],
      )
      const delayed = only(await scene.peek('q', 'delayed'))
      assert.deepEqual([delayed.body, delayed.state], ['later', 'delayed'])
      assert.equal(delayed.dueAt, delayed.sentAt + minute)
    })

    suite.test('looking changes nothing', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'body')
      for (let round = 0; round < 3; round += 1) await scene.peek('q', 'ready')
      assert.equal((await scene.statistics('q')).totals.received, 0)
      assert.equal((await scene.receiveOne('q')).receiveCount, 1)
    })

    suite.test('a lapsed lease and an ended delay show as ready', async (scene) => {
      await scene.queue('q', { visibilityMs: 5 * second })
      await scene.send('q', 'lapsed', { body: 'due', delayMs: 5 * second })
      await scene.receiveOne('q')
      await scene.advance(6 * second)
      await scene.sweep()
      assert.deepEqual(await scene.peekBodies('q', 'ready'), ['lapsed', 'due'])
      assert.deepEqual(await scene.peekBodies('q', 'leased'), [])
      assert.deepEqual(await scene.peekBodies('q', 'delayed'), [])
    })

    suite.test('many messages are read in pages, each one once', async (scene) => {
      await scene.queue('q')
      const bodies = Array.from({ length: 25 }, (_, index) => `m${index}`)
      await scene.send('q', ...bodies)
      await scene.send('q', ...bodies.map((body) => ({ body, delayMs: minute })))
      for (const state of ['ready', 'delayed', 'leased'] as const) {
        if (state === 'leased') await scene.receive('q', { max: 25 })
        const seen: string[] = []
        let after: string | undefined
        do {
          const page = await scene.backend.peek({
            queue: 'q',
            state,
            limit: 10,
            ...(after !== undefined && { after }),
          })
          assert.ok(page.items.length <= 10)
          seen.push(...page.items.map(({ body }) => body))
          after = page.next
        } while (after !== undefined)
        assert.deepEqual(seen, bodies)
      }
    })

    suite.test('an unknown queue, or a page size outside its limits, is refused', async (scene) => {
      await scene.queue('q')
      await rejects(scene.peek('nowhere', 'ready'), 'queue_not_found')
      for (const limit of [0, 1_001]) {
        await rejects(scene.backend.peek({ queue: 'q', state: 'ready', limit }), 'invalid_argument')
      }
    })
  })
}
