/** A worker in another process has a handler that blocks its event loop for longer than its lease. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { setTimeout as after } from 'node:timers/promises'
import { open } from '../../src/index.ts'
import { postgres } from '../../src/postgres.ts'
import { ChildProgram } from '../support/child-program.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { type Blocked, type Blocking, blockingFile } from './blocking.ts'
import { forge, leaseMs } from './forge.ts'

/** Nobody else gets the job, and it is done in one attempt. */
export async function assertLeaseKept(
  blocking: Blocking,
  whenReady: () => Promise<void> = async () => undefined,
): Promise<void> {
  await inTemporaryFolder('blocked', async ({ file }) => {
    const store = 'url' in blocking ? postgres(blocking.url) : blocking.data
    await using mill = await open(forge, { store })
    const child = new ChildProgram(blockingFile, blocking)
    await child.next('ready')
    await whenReady()
    const { id } = await mill.jobs.enqueue('basic', 'WORK', { blockedUntil: file('end') })
    await child.next('blocking')
    const taken: string[] = []
    const other = mill.worker({
      poll: ['basic'],
      handle: { WORK: (_, context) => void taken.push(context.id) },
    })
    other.start()
    await after(2 * leaseMs)
    await writeFile(file('end'), '')
    const { isAborted } = await child.next<Blocked>('blocked')
    const job = await mill.jobs.waitFor(id)
    assert.deepEqual(
      { status: job.status, result: job.result, attempts: job.attemptsMade, taken, isAborted },
      { status: 'completed', result: 'kept', attempts: 1, taken: [], isAborted: false },
    )
    // The other one is able to work, had there been anything for it.
    child.send({ kind: 'stop' })
    await child.ended()
    const next = await mill.jobs.enqueue('basic', 'WORK', {})
    await mill.jobs.waitFor(next.id)
    assert.deepEqual(taken, [next.id])
    await other.stop()
  })
}
