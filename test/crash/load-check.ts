/** What must hold in a store after the process that worked on it has met its end. */
import assert from 'node:assert/strict'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { bodiesOf } from '../support/bodies-of.ts'
import { batchSize, emitTarget, type Journal, sources } from './load.ts'

export async function prepareQueues(file: string): Promise<void> {
  const backend = await openSqlite({ file })
  for (const queue of [...sources, emitTarget]) await backend.createQueue({ queue })
  await backend.close()
}

/** Everything that was answered holds, and nothing is there in part. */
export async function assertNothingLost(file: string, journal: Journal): Promise<void> {
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
    for (const body of await bodiesOf(backend, queue)) {
      const name = body.split(' ')[0] ?? ''
      if (all.has(name)) twice.push(name)
      all.add(name)
    }
  }
  return { all, twice }
}
