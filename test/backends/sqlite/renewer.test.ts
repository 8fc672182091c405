import assert from 'node:assert/strict'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend, Extend, OtherThread } from '../../../src/backends/backend.ts'
import { openRenewer } from '../../../src/backends/sqlite/driver/lease-renewer.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { RenewerRequest, RenewerThread } from './renewer.thread.ts'

/** Long enough for a thread that a busy machine lets wait, and short enough to be outlived. */
const leaseMs = 3_000

interface RenewerScene {
  readonly backend: Backend
  readonly file: string
  readonly otherThread: OtherThread
  lease(visibilityMs: number): Promise<{ readonly receipt: string; readonly endsAt: number }>
}

async function openScene(): Promise<RenewerScene> {
  const folder = await temporaryFolder('renewer')
  const file = folder.file('store.db')
  const backend = await openSqlite({ file })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  const { otherThread } = backend
  assert.ok(otherThread !== null)
  await backend.createQueue({ queue: 'q' })
  return {
    backend,
    file,
    otherThread,
    async lease(visibilityMs) {
      await backend.send({ queue: 'q', messages: [{ body: 'work' }] })
      const [delivery] = await backend.receive({ queue: 'q', max: 1, visibilityMs })
      assert.ok(delivery !== undefined)
      return { receipt: delivery.receipt, endsAt: delivery.leaseExpiresAt }
    },
  }
}

interface StartedThread {
  readonly shared: RenewerThread['shared']
  ask(request: RenewerRequest): void
  answer(): Promise<unknown>
}

async function startThread(otherThread: OtherThread): Promise<StartedThread> {
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const workerData: RenewerThread = { otherThread, shared }
  const worker = new Worker(new URL('./renewer.thread.ts', import.meta.url), { workerData })
  onTestFinished(async () => {
    Atomics.store(shared, 1, 1)
    Atomics.notify(shared, 1)
    await worker.terminate()
  })
  const answer = async (): Promise<unknown> => (await once(worker, 'message'))[0]
  assert.equal(await answer(), 'open')
  return { shared, answer, ask: (request) => worker.postMessage(request) }
}

function extension(receipt: string, visibilityMs: number): Extend {
  return { queue: 'q', leases: [{ receipt, visibilityMs }] }
}

describe('the renewer', () => {
  test('keeps a lease alive while the thread that holds it is blocked', async () => {
    const { backend, otherThread, lease } = await openScene()
    const { shared, ask } = await startThread(otherThread)
    const { receipt, endsAt } = await lease(leaseMs)
    ask({ keep: extension(receipt, leaseMs) })
    // Blocks this thread until the lease would have lapsed without the other one.
    while (Date.now() <= endsAt + 100) Atomics.wait(shared, 0, Atomics.load(shared, 0), 1_000)
    assert.ok(Atomics.load(shared, 0) > 1)
    assert.deepEqual(await backend.leaseStates({ queue: 'q', receipts: [receipt] }), ['live'])
    const settlements = [{ receipt, outcome: { kind: 'acknowledge' } as const }]
    const [settled] = await backend.settle({ queue: 'q', settlements })
    assert.equal(settled?.status, 'settled')
  })

  test('waits for a connection that holds the store', async () => {
    const { file, otherThread, lease } = await openScene()
    const { ask, answer } = await startThread(otherThread)
    const { receipt } = await lease(60_000)
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    ask({ extend: extension(receipt, 60_000) })
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    other.exec('COMMIT')
    other.close()
    assert.deepEqual(await answer(), ['extended'])
  })

  test('gives up in the end, and is as good as new when the store is free', async () => {
    const { file, otherThread, lease } = await openScene()
    const options = { ...otherThread.options, busyTimeoutMs: 20 }
    const { ask, answer } = await startThread({ ...otherThread, options })
    const { receipt } = await lease(60_000)
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    ask({ extend: extension(receipt, 60_000) })
    assert.equal(await answer(), 'store_busy')
    other.exec('COMMIT')
    other.close()
    ask({ extend: extension(receipt, 60_000) })
    assert.deepEqual(await answer(), ['extended'])
  })

  test('answers for each lease what became of it', async () => {
    const { backend, otherThread, lease } = await openScene()
    const renewer = openRenewer(otherThread.options)
    onTestFinished(() => renewer.close())
    const [live, done] = [await lease(60_000), await lease(60_000)]
    const settlements = [{ receipt: done.receipt, outcome: { kind: 'acknowledge' } as const }]
    await backend.settle({ queue: 'q', settlements })
    const leases = [live.receipt, done.receipt, 'garbage'].map((receipt) => ({
      receipt,
      visibilityMs: 90_000,
    }))
    const results = await renewer.extend({ queue: 'q', leases })
    assert.deepEqual(
      results.map(({ status }) => status),
      ['extended', 'gone', 'refused'],
    )
    const [extended] = results
    assert.ok(extended?.status === 'extended' && extended.leaseExpiresAt > live.endsAt)
    const missing = extension(live.receipt, 1_000)
    await assert.rejects(renewer.extend({ ...missing, queue: 'nowhere' }), {
      code: 'queue_not_found',
    })
    assert.equal((await renewer.extend(missing))[0]?.status, 'extended')
  })

  test('is named by a module of the store', async () => {
    const { file, otherThread } = await openScene()
    assert.match(fileURLToPath(otherThread.module), /backends\/sqlite\/driver\/lease-renewer\.ts$/)
    assert.deepEqual(otherThread.options, { file })
  })
})
