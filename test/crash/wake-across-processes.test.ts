import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { ChildProgram } from '../support/child-program.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import type { WaitReport } from './wait.ts'

/** Milliseconds are usual. A poll that nothing wakes looks again at its end, after 20 seconds. */
const promptlyMs = 15_000

describe('a long poll that waits in another process', () => {
  test('is woken by a send', async () => {
    await whileAnotherWaits('q', async ({ backend, answered }) => {
      const sentAt = Date.now()
      await backend.send({ queue: 'q', messages: [{ body: 'news' }] })
      assert.deepEqual(await answered(sentAt), ['news'])
    })
  })

  test('is woken by a message that is handed back', async () => {
    await whileAnotherWaits('q', async ({ backend, held, answered }) => {
      const settlements = [{ receipt: held, outcome: { kind: 'release' as const } }]
      const releasedAt = Date.now()
      await backend.settle({ queue: 'q', settlements })
      assert.deepEqual(await answered(releasedAt), ['held'])
    })
  })

  test('is woken when an acknowledgement opens a group', async () => {
    await whileAnotherWaits('q.fifo', async ({ backend, held, answered }) => {
      const queue = 'q.fifo'
      const behind = { body: 'behind', group: 'g', deduplicationId: 'behind' }
      await backend.send({ queue, messages: [behind] })
      const settlements = [{ receipt: held, outcome: { kind: 'acknowledge' as const } }]
      const acknowledgedAt = Date.now()
      await backend.settle({ queue, settlements })
      assert.deepEqual(await answered(acknowledgedAt), ['behind'])
    })
  })

  test('is woken at the end of a delay that it could not know of when it began', async () => {
    await whileAnotherWaits('q', async ({ backend, answered }) => {
      const delayMs = 400
      const dueAt = Date.now() + delayMs
      await backend.send({ queue: 'q', messages: [{ body: 'later', delayMs }] })
      assert.deepEqual(await answered(dueAt), ['later'])
    })
  })
})

interface Waited {
  readonly backend: Backend
  /** Receipt of a message that this process holds while the other one waits. */
  readonly held: string
  /** What the other process got, no earlier than given and promptly after. */
  answered(earliestAt: number): Promise<readonly string[]>
}

async function whileAnotherWaits(
  queue: string,
  run: (waited: Waited) => Promise<void>,
): Promise<void> {
  await inTemporaryFolder('wake', async (folder) => {
    const file = folder.file('store.db')
    const backend = await openSqlite({ file })
    await backend.createQueue({ queue })
    const fifo = queue.endsWith('.fifo') ? { group: 'g', deduplicationId: 'held' } : {}
    await backend.send({ queue, messages: [{ body: 'held', ...fifo }] })
    const [held] = await backend.receive({ queue, max: 1, visibilityMs: 600_000 })
    assert.ok(held)
    const child = new ChildProgram(new URL('./wait.child.ts', import.meta.url), { file, queue })
    await child.next('waiting')
    const answered = async (earliestAt: number): Promise<readonly string[]> => {
      const { bodies, at } = await child.next<WaitReport>('answered')
      const afterMs = at - earliestAt
      assert.ok(afterMs >= 0 && afterMs < promptlyMs, `answered after ${afterMs} ms`)
      return bodies
    }
    await run({ backend, held: held.receipt, answered })
    child.send({ kind: 'stop' })
    await child.ended()
    await backend.close()
  })
}
