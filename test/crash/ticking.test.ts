import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { ChildProgram } from '../support/child-program.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import type { TickingArgument } from './ticking.ts'

const processes = 8
const ticksAwaited = 6
const queue = 'ticking-dev-ticks'

describe('eight processes with one schedule', () => {
  test('make each tick once, also when some of them are killed', async () => {
    await inTemporaryFolder('ticking', async (folder) => {
      const argument: TickingArgument = { data: folder.path }
      const start = async (): Promise<ChildProgram> => {
        const file = new URL('./ticking.child.ts', import.meta.url)
        const child = new ChildProgram(file, argument)
        await child.next('opened')
        return child
      }
      const children = await Promise.all(Array.from({ length: processes }, start))
      const backend = await openSqlite({ file: folder.file('millrace.db') })
      const moments: number[] = []
      for (let last = 0; moments.length < ticksAwaited; last += 1) {
        const deliveries = await backend.receive({ queue, max: 10, waitMs: 20_000 })
        assert.ok(deliveries.length > 0, 'nobody ticked for twenty seconds')
        for (const { body, receipt } of deliveries) {
          moments.push(Date.parse(JSON.parse(body).at))
          const settlements = [{ receipt, outcome: { kind: 'acknowledge' as const } }]
          await backend.settle({ queue, settlements })
        }
        // The rest goes on without it.
        if (last < 3) await children.shift()?.kill()
      }
      for (const child of children) child.send({ kind: 'stop' })
      await Promise.all(children.map((child) => child.ended()))

      // What was sent until the last process closed.
      const rest = await backend.peek({ queue, state: 'ready', limit: 1_000 })
      moments.push(...rest.items.map(({ body }) => Date.parse(JSON.parse(body).at)))
      const record = await backend.schedules?.read({ schedule: 'ticking-dev-often' })
      await backend.close()
      assertSoundStore(folder.file('millrace.db'))

      assert.equal(new Set(moments).size, moments.length, `ticked twice: ${moments}`)
      assert.equal(record?.ticks, moments.length)
      const span = (Math.max(...moments) - Math.min(...moments)) / 1_000 + 1
      // A busy machine may be late by more than a second, and then the policy passes one over.
      assert.ok(span <= moments.length + (record?.skipped ?? 0), `a tick is missing: ${moments}`)
      assert.equal(record?.nextAt, Math.max(...moments) + 1_000)
    })
  })
})
