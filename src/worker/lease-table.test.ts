import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import { describe, test } from 'vitest'
import { LeaseTable, monotonicMs } from './lease-table.ts'

const lease = { queue: 2, receipt: 'receipt-é-1', visibilityMs: 30_000 }

/** Two threads have a view each of the same memory. */
function views(slots = 3): { writer: LeaseTable; reader: LeaseTable; shared: SharedArrayBuffer } {
  const shared = LeaseTable.allocate(slots)
  return { writer: new LeaseTable(shared), reader: new LeaseTable(shared), shared }
}

/** Where the version of the first entry lies, behind the preamble. */
const firstVersion = 16

describe('a table of leases', () => {
  test('shows one thread what the other has written', () => {
    const { writer, reader } = views()
    assert.equal(reader.slots, 3)
    assert.deepEqual([reader.read(1), reader.expiry(1)], [undefined, 0])
    const before = monotonicMs()
    assert.equal(writer.write(1, lease), true)
    const { version, ...entry } = reader.read(1) ?? assert.fail()
    assert.deepEqual(entry, lease)
    assert.equal(version % 2, 0)
    const expiry = reader.expiry(1)
    assert.ok(before + 30_000 <= expiry && expiry <= monotonicMs() + 30_000)
    assert.deepEqual([reader.read(0), reader.read(2)], [undefined, undefined])
    writer.clear(1)
    assert.deepEqual([reader.read(1), reader.expiry(1)], [undefined, 0])
  })

  test('reuses a place, also for a shorter receipt', () => {
    const { writer, reader } = views()
    writer.write(0, { ...lease, receipt: 'a much longer receipt than the next' })
    writer.clear(0)
    writer.write(0, { queue: 0, receipt: 'short', visibilityMs: 1 })
    assert.equal(reader.read(0)?.receipt, 'short')
  })

  test('keeps the version of an entry that was dropped, until the place is used again', () => {
    const { writer, reader } = views()
    writer.write(0, { ...lease, isWaiting: true })
    const { version } = reader.read(0) ?? assert.fail()
    assert.equal(reader.release(0), true)
    assert.equal(writer.start(0), false)
    writer.clear(0)
    assert.equal(reader.version(0), version)
    writer.write(0, lease)
    assert.notEqual(reader.version(0), version)
  })

  test('takes a receipt of 992 bytes, and refuses a longer one', () => {
    const { writer, reader } = views()
    assert.equal(writer.write(0, { ...lease, receipt: 'x'.repeat(992) }), true)
    assert.equal(reader.read(0)?.receipt.length, 992)
    assert.equal(writer.write(1, { ...lease, receipt: 'x'.repeat(993) }), false)
    assert.equal(writer.write(1, { ...lease, receipt: 'é'.repeat(497) }), false)
    assert.deepEqual([reader.read(1), reader.expiry(1)], [undefined, 0])
    assert.equal(reader.read(2), undefined)
  })

  test('gives out nothing that is being written this moment', () => {
    const { writer, reader, shared } = views()
    writer.write(0, lease)
    const ints = new Int32Array(shared)
    Atomics.add(ints, firstVersion, 1)
    assert.equal(reader.read(0), undefined)
    Atomics.add(ints, firstVersion, 1)
    assert.equal(reader.read(0)?.receipt, lease.receipt)
  })

  test('continues when its versions have wrapped around', () => {
    const { writer, reader, shared } = views()
    const ints = new Int32Array(shared)
    Atomics.store(ints, firstVersion, 2 ** 31 - 2)
    writer.write(0, lease)
    assert.ok(Atomics.load(ints, firstVersion) < 0)
    assert.equal(reader.read(0)?.receipt, lease.receipt)
    Atomics.add(ints, firstVersion, 1)
    assert.equal(reader.read(0), undefined)
  })

  test('keeps the end of a lease from a reader of the one before it', () => {
    const { writer, reader } = views()
    writer.write(0, lease)
    const { version } = reader.read(0) ?? assert.fail()
    reader.setExpiry(0, 1_000, version)
    assert.equal(writer.expiry(0), 1_000)
    writer.write(0, { ...lease, receipt: 'the next' })
    const expiry = writer.expiry(0)
    reader.setExpiry(0, 2_000, version)
    assert.equal(writer.expiry(0), expiry)
    writer.setExpiry(0, 3_000)
    assert.equal(reader.expiry(0), 3_000)
  })

  test('lets a thread sleep for a while, and wakes it to end', () => {
    const { writer, reader } = views()
    assert.equal(reader.sleep(1), false)
    writer.close()
    assert.equal(reader.sleep(60_000), true)
  })

  test('never shows a thread parts of two leases', async () => {
    const { writer, shared } = views(1)
    const file = new URL('./lease-table.ts', import.meta.url).href
    // Reads as fast as it can, and tells what did not belong together.
    const program = `
      const { parentPort, workerData } = require('node:worker_threads')
      import(${JSON.stringify(file)}).then(({ LeaseTable }) => {
        const table = new LeaseTable(workerData)
        const torn = []
        let seen = 0
        parentPort.postMessage('ready')
        while (!table.sleep(0)) {
          const entry = table.read(0)
          if (entry === undefined) continue
          seen += 1
          const letters = new Set(entry.receipt)
          const fits = letters.size === 1 && entry.visibilityMs === entry.receipt.length
          if (!fits) torn.push(entry)
        }
        parentPort.postMessage({ torn: torn.slice(0, 3), seen })
      })`
    const thread = new Worker(program, { eval: true, workerData: shared })
    const messages: unknown[] = []
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
    const ready = new Promise<void>((resolve) => {
      thread.on('message', (message) => {
        messages.push(message)
        resolve()
      })
    })
    await ready
    for (let round = 0; round < 200_000; round += 1) {
      const length = 1 + (round % 900)
      const receipt = String.fromCharCode(97 + (round % 26)).repeat(length)
      writer.write(0, { queue: 0, receipt, visibilityMs: length })
    }
    writer.close()
    await ended
    const report = messages.at(-1) as { readonly torn: unknown; readonly seen: number }
    assert.deepEqual(report.torn, [])
    assert.ok(report.seen > 0)
  })
})
