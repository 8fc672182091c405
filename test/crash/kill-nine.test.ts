import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { ChildProgram } from '../support/child-program.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { batchSize, emitTarget, Journal, sources } from './load.ts'

const seed = Number(process.env['MILLRACE_SEED'] ?? Date.now() % 2 ** 31)
const runs = 30

describe(`a process that is killed under load (MILLRACE_SEED=${seed})`, () => {
  test(`loses nothing and brings nothing back, ${runs} times over`, async () => {
    await inTemporaryFolder('kill-nine', async (folder) => {
      const randomness = seededRandomness(seed)
      const file = folder.file('store.db')
      const journal = folder.file('journal.txt')
      await prepareQueues(file)
      for (let run = 0; run < runs; run += 1) {
        const child = new ChildProgram(new URL('./load.child.ts', import.meta.url), {
          file,
          journal,
          run,
        })
        // The child's own progress sets the moment, early as well as late.
        const moment = Math.floor(randomness.next() ** 2 * 150)
        for (let step = 0; step <= moment; step += 1) await child.next('progress')
        await child.kill()
        await check(file, new Journal(await readFile(journal, 'utf8')))
        assertSoundStore(file)
      }
      const { sent, acknowledged } = new Journal(await readFile(journal, 'utf8'))
      assert.ok(sent.size > runs && acknowledged.size > runs, 'there was hardly any load')
    })
  }, 180_000)
})

async function prepareQueues(file: string): Promise<void> {
  const backend = await openSqlite({ file })
  for (const queue of [...sources, emitTarget]) await backend.createQueue({ queue })
  await backend.close()
}

async function check(file: string, journal: Journal): Promise<void> {
  const backend = await openSqlite({ file })
  const waiting = await names(backend, sources)
  const emitted = await names(backend, [emitTarget])
  await backend.close()
  assert.deepEqual([waiting.twice, emitted.twice], [[], []], 'a message is there twice')
  const parts = (batch: string): string[] =>
    Array.from({ length: batchSize }, (_, index) => `${batch}.${index}`)

  const lost = [...journal.sent]
    .flatMap(parts)
    .filter((name) => !waiting.all.has(name) && !journal.acknowledging.has(name))
  assert.deepEqual(lost, [], 'acknowledged sends are lost')

  const returned = [...journal.acknowledged].filter((name) => waiting.all.has(name))
  assert.deepEqual(returned, [], 'acknowledged messages are back')

  const torn = [...journal.sending].filter((batch) => {
    const kept = parts(batch).filter((name) => waiting.all.has(name) || emitted.all.has(name))
    return kept.length !== 0 && kept.length !== batchSize
  })
  assert.deepEqual(torn, [], 'sends of all or nothing are there in part')

  // An acknowledgement whose answer was cut off either happened, emit and all, or did not.
  const halfSettled = [...journal.acknowledging].filter(
    (name) => waiting.all.has(name) === emitted.all.has(name),
  )
  assert.deepEqual(halfSettled, [], 'settlements and their emits are not one change')
}

interface Names {
  readonly all: ReadonlySet<string>
  readonly twice: readonly string[]
}

/** Names of all messages of some queues, whatever their state. */
async function names(backend: Backend, from: readonly string[]): Promise<Names> {
  const all = new Set<string>()
  const twice: string[] = []
  for (const queue of from) {
    for (const body of await bodies(backend, queue)) {
      const name = body.split(' ')[0] ?? ''
      if (all.has(name)) twice.push(name)
      all.add(name)
    }
  }
  return { all, twice }
}

async function bodies(backend: Backend, queue: string): Promise<string[]> {
  const found: string[] = []
  for (const state of ['ready', 'leased', 'delayed'] as const) {
    let after: string | undefined
    do {
      const page = await backend.peek({ queue, state, limit: 1_000, ...(after && { after }) })
      found.push(...page.items.map(({ body }) => body))
      after = page.next
    } while (after !== undefined)
  }
  return found
}
