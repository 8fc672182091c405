import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { ChildProgram } from '../support/child-program.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import type { ShareArgument, ShareProgress, ShareReport } from './share.ts'

const processes = 8
const sends = 150
const queue = 'shared'

describe('eight processes on one file', () => {
  test('lose nothing, deliver nothing twice within a lease, and see no busy error', async () => {
    await inTemporaryFolder('eight-processes', async (folder) => {
      const file = folder.file('store.db')
      const backend = await openSqlite({ file })
      await backend.createQueue({ queue })
      const children = Array.from({ length: processes }, (_, index) => start(file, `p${index}`))
      await Promise.all(children.map((child) => child.next('opened')))
      for (const child of children) child.send({ kind: 'start' })
      await workedOff(children, processes * sends)
      for (const child of children) child.send({ kind: 'stop' })
      const reports = await Promise.all(children.map((child) => child.next<ShareReport>('report')))
      await Promise.all(children.map((child) => child.ended()))

      const all = (part: 'sent' | 'delivered' | 'acknowledged'): string[] =>
        reports.flatMap((report) => report[part]).toSorted()
      assert.equal(new Set(all('sent')).size, processes * sends)
      assert.deepEqual(all('delivered'), all('sent'))
      assert.deepEqual(all('acknowledged'), all('sent'))
      const { totals, ...counts } = await backend.queueStatistics({ queue })
      assert.deepEqual(counts, { ready: 0, leased: 0, delayed: 0, oldestReadyAgeMs: null })
      const expected = processes * sends
      assert.deepEqual(
        [totals.sent, totals.received, totals.acknowledged],
        [expected, expected, expected],
      )
      await backend.close()
      assertSoundStore(file)
    })
  }, 120_000)
})

function start(file: string, name: string): ChildProgram {
  const argument: ShareArgument = { file, queue, name, sends }
  return new ChildProgram(new URL('./share.child.ts', import.meta.url), argument)
}

/** Waits until the processes together have worked off this many messages. */
async function workedOff(children: readonly ChildProgram[], expected: number): Promise<void> {
  let done = 0
  const enough = Promise.withResolvers<void>()
  for (const child of children) {
    const follow = async (): Promise<void> => {
      while (done < expected) {
        done += (await child.next<ShareProgress>('progress')).count
        if (done >= expected) enough.resolve()
      }
    }
    follow().catch(enough.reject)
  }
  await enough.promise
}
