import assert from 'node:assert/strict'
import { setTimeout as after } from 'node:timers/promises'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Backend, OtherThread } from '../backends/backend.ts'
import { openSqlite } from '../backends/sqlite/index.ts'
import { LeaseGuard } from './lease-guard.ts'

const queue = 'jobs'
const visibilityMs = 900
/** The guard renews in the last third, which is long enough for a thread that a busy machine lets wait. */
const longerMs = 6_000

async function openStore(): Promise<{ readonly backend: Backend; readonly store: OtherThread }> {
  const folder = await temporaryFolder('guard')
  const backend = await openSqlite({ file: folder.file('millrace.db') })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  await backend.createQueue({ queue, settings: { visibilityMs: longerMs } })
  const store = backend.otherThread ?? assert.fail()
  return { backend, store }
}

function guarding(store: OtherThread, slots = 2): LeaseGuard {
  const guard = new LeaseGuard({ store, slots, queues: [queue], leaseMsMin: visibilityMs })
  onTestFinished(() => guard.stop())
  return guard
}

function hold(guard: LeaseGuard, name: string, receipt: string, leaseMs: number): number {
  return guard.hold({ queue: name, receipt, visibilityMs: leaseMs })
}

async function received(backend: Backend): Promise<string> {
  await backend.send({ queue, messages: [{ body: '1' }] })
  const [delivery] = await backend.receive({ queue, max: 1 })
  return delivery?.receipt ?? assert.fail()
}

/** Waits for what the guard does in its thread. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await after(5)
}

/** Waits for a lease to be renewed by the thread: from one look to the next it has longer left. */
async function renewal(guard: LeaseGuard, slot: number): Promise<void> {
  let before = guard.remainingMs(slot)
  await until(() => {
    const now = guard.remainingMs(slot)
    const isLonger = now > before
    before = now
    return isLonger
  })
}

describe('a lease guard', () => {
  test('renews leases that the event loop lets come close to their end', async () => {
    const { backend, store } = await openStore()
    const guard = guarding(store)
    const receipt = await received(backend)
    const slot = hold(guard, queue, receipt, longerMs)
    for (let time = 0; time < 2; time += 1) await renewal(guard, slot)
    assert.deepEqual(await backend.leaseStates({ queue, receipts: [receipt] }), ['live'])
    assert.deepEqual(await backend.receive({ queue, max: 1 }), [])
  })

  test('has a place for as many leases as it was made for, and gives places back', async () => {
    const { store } = await openStore()
    const guard = guarding(store, 2)
    const [first, second] = [hold(guard, queue, 'a', 60_000), hold(guard, queue, 'b', 60_000)]
    assert.deepEqual([first, second].sort(), [0, 1])
    assert.equal(hold(guard, queue, 'c', 60_000), -1)
    assert.equal(guard.remainingMs(-1), 0)
    // What has no place is not kept here, and nothing else changes.
    guard.renewed(-1, 60_000)
    guard.drop(-1)
    assert.equal(hold(guard, queue, 'c', 60_000), -1)
    guard.drop(first)
    assert.equal(hold(guard, 'another queue', 'd', 60_000), -1)
    assert.equal(hold(guard, queue, 'x'.repeat(2_000), 60_000), -1)
    assert.equal(hold(guard, queue, 'd', 60_000), first)
  })

  test('knows how long a lease has left', async () => {
    const { store } = await openStore()
    const guard = guarding(store)
    const slot = hold(guard, queue, 'a', 60_000)
    assert.ok(guard.remainingMs(slot) <= 60_000 && guard.remainingMs(slot) > 50_000)
    guard.renewed(slot, 120_000)
    assert.ok(guard.remainingMs(slot) > 60_000)
    guard.drop(slot)
    assert.equal(guard.remainingMs(slot), 0)
  })

  test('leaves a lease that is lost to the event loop', async () => {
    const { backend, store } = await openStore()
    const guard = guarding(store)
    const receipt = await received(backend)
    const slot = hold(guard, queue, receipt, visibilityMs)
    await backend.purgeQueue({ queue })
    await until(() => guard.remainingMs(slot) === 0)
    assert.deepEqual(await backend.leaseStates({ queue, receipts: [receipt] }), ['gone'])
  })

  test('tries again when the store fails', async () => {
    const program = `
      let calls = 0
      export const openRenewer = () => ({
        extend: ({ leases }) => {
          calls += 1
          if (calls < 3) throw new Error('busy')
          return leases.map(() => ({ status: 'extended', leaseExpiresAt: 0 }))
        },
        close: () => undefined,
      })`
    const module = `data:text/javascript,${encodeURIComponent(program)}`
    const guard = guarding({ module, options: {} })
    const slot = hold(guard, queue, 'a', visibilityMs)
    await renewal(guard, slot)
    assert.ok(guard.remainingMs(slot) > 0)
  })

  test('does not end the process when its store cannot be reached at all', async () => {
    const guard = guarding({ module: 'data:text/javascript,throw new Error()', options: {} })
    const slot = hold(guard, queue, 'a', visibilityMs)
    await until(() => guard.remainingMs(slot) === 0)
    await guard.stop()
  })
})
