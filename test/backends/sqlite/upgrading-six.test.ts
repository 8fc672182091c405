/** A store that a program with the sixth schema left behind, before there were flows. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import type { FlowStatus } from '../../../src/backends/flow-store.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { formerReceipt, writeOldStore } from './old-store.ts'

const heldMessage = formerReceipt({ queueId: 2, sequence: 1, token: 1_099_511_627_777 })
const heldJob = formerReceipt({ queueId: 3, sequence: 5, token: 1_099_511_627_780 })
const failedJob = 'b392ff6d-e499-8440-8000-000000000004'
const key = { flow: 'app-dev-pages', id: 'book' } as const

async function upgradedStore(): Promise<Backend> {
  const folder = await temporaryFolder('upgrading')
  const file = folder.file('millrace.db')
  writeOldStore(file, 6)
  const backend = await openSqlite({ file, ports: virtualPorts() })
  onTestFinished(async () => {
    await backend.close()
    assertSoundStore(file)
    await folder.remove()
  })
  return backend
}

async function acknowledge(backend: Backend, queue: string, receipt: string): Promise<string> {
  const settlements = [{ receipt, outcome: { kind: 'acknowledge' as const } }]
  const [result] = await backend.settle({ queue, settlements })
  return result?.status ?? 'nothing'
}

/** Receives and acknowledges until the queue is empty. */
async function drain(backend: Backend, queue: string): Promise<readonly string[]> {
  const bodies: string[] = []
  for (;;) {
    const deliveries = await backend.receive({ queue, max: 10 })
    if (deliveries.length === 0) return bodies
    for (const { body, receipt, unit } of deliveries) {
      bodies.push(unit === null ? body : `${body} of ${unit.unit}`)
      assert.equal(await acknowledge(backend, queue, receipt), 'settled')
    }
  }
}

describe('a store of the sixth schema', () => {
  test('takes the receipts that it gave out, and gives out what waits', async () => {
    const backend = await upgradedStore()
    assert.equal(await acknowledge(backend, 'work', heldMessage), 'settled')
    assert.equal(await acknowledge(backend, 'jobs', heldJob), 'settled')
    assert.deepEqual(await drain(backend, 'work'), ['m3'])
    assert.deepEqual(await drain(backend, 'jobs'), ['3'])
    assert.deepEqual(await drain(backend, 'dead'), ['m2', '1'])
  })

  test('moves dead letters back and tries failed jobs again', async () => {
    const backend = await upgradedStore()
    await backend.jobs?.retry({ id: failedJob })
    await backend.startMoveTask({ source: 'dead' })
    while ((await backend.sweep()).more);
    assert.deepEqual(await drain(backend, 'work'), ['m3', 'm2'])
    assert.deepEqual(await drain(backend, 'jobs'), ['3', '1', '1'])
  })

  test('can have flows beside what it held', async () => {
    const backend = await upgradedStore()
    const status = async (): Promise<FlowStatus | undefined> =>
      (await backend.flows?.read(key))?.status
    await backend.flows?.open({
      ...key,
      units: [{ id: 'a', work: { queue: 'work', message: { body: 'page' } } }],
      sealed: true,
      onUnitFailure: 'wait',
      keepMs: 60_000,
    })
    assert.equal(await status(), 'open')
    assert.deepEqual(await drain(backend, 'work'), ['m3', 'page of a'])
    assert.equal(await status(), 'finalized')
  })
})
