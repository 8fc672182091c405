import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { defaultQueueSettings } from '../../../src/core/queue-settings.ts'
import { ceilings } from '../../../src/testing/backend-contract/gate-scene.ts'
import { type VirtualPorts, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

let folder: TemporaryFolder
let file: string
let ports: VirtualPorts
let here: Backend
let there: Backend

beforeEach(async () => {
  folder = await temporaryFolder('gates')
  file = folder.file('store.db')
  ports = virtualPorts()
  here = await openSqlite({ file, ports })
  there = await openSqlite({ file, ports })
})

afterEach(async () => {
  await here.close()
  await there.close()
  await folder.remove()
})

const bodies = async (backend: Backend, options: object = {}): Promise<string[]> => {
  const deliveries = await backend.receive({ queue: 'q', max: 10, waitMs: 0, ...options })
  return deliveries.map(({ body }) => body)
}

async function send(backend: Backend, ...texts: readonly string[]): Promise<void> {
  await backend.send({ queue: 'q', messages: texts.map((body) => ({ body, group: 'x' })) })
}

/** A wait whose end can be looked at. */
async function watch(backend: Backend): Promise<{ isOver: boolean }> {
  const state = { isOver: false }
  const { signal } = new AbortController()
  void backend.whenReady({ queue: 'q', signal }).then(() => {
    state.isOver = true
  })
  await ports.clock.advance(0)
  return state
}

/** Lets other processes' changes be noticed, which takes a poll when nothing rings. */
async function assertOver(state: { readonly isOver: boolean }): Promise<void> {
  await ports.clock.advance(1_000)
  assert.equal(state.isOver, true)
}

describe('two processes on one store', () => {
  test('a switch that one turns on holds for the other at once', async () => {
    await here.createQueue({ queue: 'q' })
    await send(there, 'a')
    assert.deepEqual(await bodies(here, { visibilityMs: 0 }), ['a'])
    const target = { scope: 'tenant', value: 'x', by: 'anna' } as const
    await there.switches?.set({ ...target, mode: 'hold' })
    assert.deepEqual(await bodies(here), [])
    await there.switches?.lift(target)
    assert.deepEqual(await bodies(here), ['a'])
  })

  test('a switch that one lifts wakes whoever waits in the other', async () => {
    await here.createQueue({ queue: 'q' })
    const target = { scope: 'queue', value: 'q', by: 'anna' } as const
    await here.switches?.set({ ...target, mode: 'hold' })
    await send(here, 'a')
    const state = await watch(there)
    await ports.clock.advance(1_000)
    assert.equal(state.isOver, false)
    await here.switches?.lift(target)
    await assertOver(state)
  })

  test('a ceiling counts what either has in hand, and room made by one wakes the other', async () => {
    await here.createQueue({ queue: 'q', settings: ceilings({ running: 1 }) })
    await send(here, 'a', 'b')
    const [held] = await here.receive({ queue: 'q', max: 10, visibilityMs: 600_000 })
    assert.deepEqual(await bodies(there), [])
    const state = await watch(there)
    await ports.clock.advance(5_000)
    assert.equal(state.isOver, false)
    const receipt = held?.receipt ?? ''
    const outcome = { kind: 'acknowledge' } as const
    await here.settle({ queue: 'q', settlements: [{ receipt, outcome }] })
    await assertOver(state)
    assert.deepEqual(await bodies(there), ['b'])
  })

  test('a rate is shared', async () => {
    await here.createQueue({ queue: 'q', settings: ceilings({ rate: { max: 3, perMs: 1_000 } }) })
    await send(here, 'a', 'b', 'c', 'd')
    assert.deepEqual(await bodies(here, { max: 2 }), ['a', 'b'])
    assert.deepEqual(await bodies(there), ['c'])
    assert.deepEqual(await bodies(here), [])
  })
})

describe('whoever waits for a queue that has nothing for them', () => {
  test('does not look at it again and again', async () => {
    let transactions = 0
    const soon = (run: () => void): void => {
      transactions += 1
      ports.timers.soon(run)
    }
    const after = ports.timers.after.bind(ports.timers)
    const counted = await openSqlite({ file, ports: { ...ports, timers: { after, soon } } })
    await counted.createQueue({ queue: 'q', settings: ceilings({ runningPerTenant: 1 }) })
    await send(counted, 'a', 'b', 'c')
    await counted.receive({ queue: 'q', max: 1, visibilityMs: 600_000 })
    assert.deepEqual(await bodies(counted), [])
    const waiting = counted.receive({ queue: 'q', max: 1, waitMs: 20_000 })
    const state = await watch(counted)
    transactions = 0
    await ports.clock.advance(20_000)
    assert.deepEqual(await waiting, [])
    assert.deepEqual([state.isOver, transactions], [false, 0])
    await counted.close()
  })
})

describe('a store from before there were limits by key', () => {
  test('keeps its ceilings, and has none by key', async () => {
    await here.createQueue({ queue: 'q', settings: ceilings({ running: 1 }) })
    await here.close()
    await there.close()
    const db = new DatabaseSync(file)
    db.exec(`UPDATE queue SET settings = json_remove(settings, '$.ceilings.perKey')`)
    db.close()
    here = await openSqlite({ file, ports })
    there = await openSqlite({ file, ports })
    const { settings } = await here.readQueue({ queue: 'q' })
    assert.deepEqual(settings.ceilings, ceilings({ running: 1 }).ceilings)
    await send(here, 'a', 'b')
    assert.deepEqual(await bodies(there, { max: 10 }), ['a'])
  })
})

describe('a store from before there were ceilings', () => {
  test('has queues with the default settings', async () => {
    await here.createQueue({ queue: 'q' })
    await here.close()
    await there.close()
    const db = new DatabaseSync(file)
    db.exec(`
      UPDATE queue SET settings = json_remove(settings, '$.ceilings', '$.obeys', '$.history')`)
    db.close()
    here = await openSqlite({ file, ports })
    const { settings } = await here.readQueue({ queue: 'q' })
    assert.deepEqual(settings, { type: 'standard', ...defaultQueueSettings })
    await send(here, 'a')
    assert.deepEqual(await bodies(here), ['a'])
  })
})
