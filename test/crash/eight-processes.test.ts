import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { ChildProgram } from '../support/child-program.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import type { ShareArgument, SharedDelivery, ShareProgress, ShareReport } from './share.ts'

const processes = 8
const sends = 150
const expected = processes * sends

describe('eight processes on one file', () => {
  test('lose nothing, deliver nothing twice within a lease, and see no busy error', async () => {
    await share('shared')
  })

  test('keep the order of every group, whoever receives it', async () => {
    const deliveries = await share('shared.fifo')
    const next = new Map<string, number>()
    // Tokens rise with every lease of the store, so they tell the order of deliveries.
    for (const { sender, index } of deliveries.toSorted((one, other) => one.token - other.token)) {
      assert.equal(index, next.get(sender) ?? 0, `${sender} was served out of order`)
      next.set(sender, index + 1)
    }
  })
})

/** Lets the processes work until everything is worked off; the answer is what was delivered. */
async function share(queue: string): Promise<readonly SharedDelivery[]> {
  const deliveries: SharedDelivery[] = []
  await inTemporaryFolder('eight-processes', async (folder) => {
    const file = folder.file('store.db')
    const backend = await openSqlite({ file })
    await backend.createQueue({ queue })
    const reports = await runChildren(file, queue)
    deliveries.push(...reports.flatMap(({ delivered }) => delivered))

    const sent = reports.flatMap((report) => report.sent).toSorted()
    const acknowledged = reports.flatMap((report) => report.acknowledged).toSorted()
    assert.equal(new Set(sent).size, expected)
    assert.deepEqual(deliveries.map(({ id }) => id).toSorted(), sent)
    assert.deepEqual(acknowledged, sent)
    const { totals, ...counts } = await backend.queueStatistics({ queue })
    assert.deepEqual(counts, { ready: 0, leased: 0, delayed: 0, oldestReadyAgeMs: null })
    const { sent: sentInAll, received, acknowledged: acknowledgedInAll } = totals
    assert.deepEqual([sentInAll, received, acknowledgedInAll], [expected, expected, expected])
    await backend.close()
    assertSoundStore(file)
  })
  return deliveries
}

async function runChildren(file: string, queue: string): Promise<readonly ShareReport[]> {
  const children = Array.from({ length: processes }, (_, index) => {
    const argument: ShareArgument = { file, queue, name: `p${index}`, sends }
    return new ChildProgram(new URL('./share.child.ts', import.meta.url), argument)
  })
  await Promise.all(children.map((child) => child.next('opened')))
  for (const child of children) child.send({ kind: 'start' })
  await workedOff(children)
  for (const child of children) child.send({ kind: 'stop' })
  const reports = await Promise.all(children.map((child) => child.next<ShareReport>('report')))
  await Promise.all(children.map((child) => child.ended()))
  return reports
}

/** Waits until the processes together have worked off what they sent. */
async function workedOff(children: readonly ChildProgram[]): Promise<void> {
  let done = 0
  const enough = Promise.withResolvers<void>()
  for (const child of children) {
    const follow = async (): Promise<void> => {
      while (done < expected) {
        const { count } = await child.next<ShareProgress>('progress')
        done += count
        if (done >= expected) enough.resolve()
      }
    }
    follow().catch(enough.reject)
  }
  await enough.promise
}
