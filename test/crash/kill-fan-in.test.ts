import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import type { FlowRecord } from '../../src/backends/flow-store.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { bodiesOf } from '../support/bodies-of.ts'
import { ChildProgram } from '../support/child-program.ts'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import {
  deadQueue,
  endsQueue,
  firstUnits,
  flowName,
  laterUnits,
  readNotes,
  type UnitNotes,
  workQueue,
} from './fan-in.ts'

const runs = 20
const unitCount = new Set([...firstUnits, ...laterUnits]).size

describe(`a process that is killed in the middle of fan-in (MILLRACE_SEED=${seed})`, () => {
  test(`ends every flow once, after all of its units, ${runs} times over`, async () => {
    await inTemporaryFolder('kill-fan-in', async (folder) => {
      const randomness = seededRandomness(seed)
      const file = folder.file('store.db')
      const journal = folder.file('journal.txt')
      await prepareQueues(file)
      for (let run = 0; run < runs; run += 1) {
        const child = new ChildProgram(new URL('./fan-in.child.ts', import.meta.url), {
          file,
          journal,
          run,
        })
        // The child's own progress sets the moment, early as well as late.
        const moment = Math.floor(randomness.next() ** 2 * 60)
        for (let step = 0; step <= moment; step += 1) await child.next('progress')
        await child.kill()
        await assertKept(file, readNotes(await readFile(journal, 'utf8')))
        assertSoundStore(file)
      }
      const notes = readNotes(await readFile(journal, 'utf8'))
      assert.ok(notes.opened.size > runs && notes.acknowledged.size > runs, 'hardly any load')
      await assertAllEnd(file, notes)
      assertSoundStore(file)
    })
  })
})

async function prepareQueues(file: string): Promise<void> {
  const backend = await openSqlite({ file })
  await backend.createQueue({ queue: endsQueue })
  await backend.createQueue({ queue: deadQueue })
  const deadLetter = { queue: deadQueue, maxReceives: 1_000 }
  await backend.createQueue({ queue: workQueue, settings: { visibilityMs: 500, deadLetter } })
  await backend.close()
}

/** Everything that was answered holds, and an end is there exactly with the state of its flow. */
async function assertKept(file: string, notes: UnitNotes): Promise<void> {
  const backend = await openSqlite({ file })
  const flows = await allFlows(backend)
  const ends = await bodiesOf(backend, endsQueue)
  const done = await doneUnits(backend, flows)
  await backend.close()
  assert.deepEqual([...new Set(ends)], ends, 'a flow has ended twice')
  const finalized = flows.filter(({ status }) => status === 'finalized').map(({ id }) => id)
  assert.deepEqual([...ends].sort(), finalized.sort(), 'ends and states are not one change')
  const known = new Set(flows.map(({ id }) => id))
  const lost = [...notes.opened].filter((id) => !known.has(id))
  assert.deepEqual(lost, [], 'opened flows are lost')
  const undone = [...notes.acknowledged].filter((unit) => !done.has(unit))
  assert.deepEqual(undone, [], 'acknowledged units are not done')
  const early = flows.filter(
    ({ status, units }) => status === 'finalized' && units.done !== unitCount,
  )
  assert.deepEqual(early, [], 'flows have ended before their units')
}

/** A last process brings everything to its end. */
async function assertAllEnd(file: string, notes: UnitNotes): Promise<void> {
  const backend = await openSqlite({ file })
  const { flows } = backend
  assert.ok(flows !== null)
  for (const { id } of await allFlows(backend)) await flows.seal({ flow: flowName, id })
  await backend.startMoveTask({ source: deadQueue })
  while ((await backend.sweep()).more);
  for (;;) {
    // What the last child held is free again within half a second.
    const deliveries = await backend.receive({ queue: workQueue, max: 100, waitMs: 2_000 })
    if (deliveries.length === 0) break
    const settlements = deliveries.map(({ receipt }) => ({
      receipt,
      outcome: { kind: 'acknowledge' as const },
    }))
    await backend.settle({ queue: workQueue, settlements })
  }
  const records = await allFlows(backend)
  const ends = await bodiesOf(backend, endsQueue)
  await backend.close()
  assert.deepEqual(
    records.filter(({ status }) => status !== 'finalized'),
    [],
  )
  assert.deepEqual([...ends].sort(), records.map(({ id }) => id).sort())
  assert.ok(records.length >= notes.opened.size)
}

async function allFlows({ flows }: Backend): Promise<readonly FlowRecord[]> {
  assert.ok(flows !== null)
  const records: FlowRecord[] = []
  let after: string | undefined
  do {
    const page = await flows.list({ prefix: '', limit: 500, ...(after !== undefined && { after }) })
    records.push(...page.items)
    after = page.next
  } while (after !== undefined)
  return records
}

async function doneUnits(
  { flows }: Backend,
  records: readonly FlowRecord[],
): Promise<ReadonlySet<string>> {
  assert.ok(flows !== null)
  const done = new Set<string>()
  for (const { flow, id } of records) {
    const { items } = await flows.units({ flow, id, state: 'done', limit: 100 })
    for (const { unit } of items) done.add(`${id}/${unit}`)
  }
  return done
}
