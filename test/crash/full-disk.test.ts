import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { Backend, Delivery, Outcome } from '../../src/backends/backend.ts'
import { DiskRoom } from '../../src/backends/sqlite/driver/disk-room.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { defineApp, jobs, open, queue } from '../../src/index.ts'
import { canMount } from '../support/mounting.ts'
import { fillWithBallast, onSmallDisk } from '../support/small-disk.ts'
import { assertSoundStore } from '../support/store-inspection.ts'

const batch = Array.from({ length: 10 }, () => ({ body: 'b'.repeat(1_000) }))

/** Sends batches of ten until the disk is full; the answer is how many batches were acknowledged. */
async function fillUp(
  backend: Backend,
  messages: readonly { body: string }[] = batch,
): Promise<number> {
  for (let acknowledged = 0; ; acknowledged += 1) {
    try {
      await backend.send({ queue: 'q', messages })
    } catch (error) {
      assert.ok(error instanceof MillraceError)
      assert.equal(error.code, 'store_full')
      return acknowledged
    }
  }
}

async function settleAll(
  backend: Backend,
  deliveries: readonly Delivery[],
  outcome: Outcome,
  queue = 'q',
): Promise<void> {
  const settlements = deliveries.map(({ receipt }) => ({ receipt, outcome }))
  const results = await backend.settle({ queue, settlements })
  for (const { status } of results) assert.equal(status, 'settled')
}

/** Receives and acknowledges until the queue is empty; the answer is how many there were. */
async function drain(backend: Backend, queue = 'q'): Promise<number> {
  for (let drained = 0; ; ) {
    const deliveries = await backend.receive({ queue, max: 10 })
    if (deliveries.length === 0) return drained
    const outcome = { kind: 'acknowledge' } as const
    const settlements = deliveries.map(({ receipt }) => ({ receipt, outcome }))
    const results = await backend.settle({ queue, settlements })
    for (const { status } of results) assert.equal(status, 'settled')
    drained += deliveries.length
  }
}

async function openQueues(file: string): Promise<Backend> {
  const backend = await openSqlite({ file })
  await backend.createQueue({ queue: 'dead' })
  const deadLetter = { queue: 'dead', maxReceives: 5 }
  await backend.createQueue({ queue: 'q', settings: { deadLetter } })
  return backend
}

describe.skipIf(!canMount)('a full disk', () => {
  test('refuses with a typed error, keeps every acknowledged batch whole, and works again', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const ballast = `${disk}/ballast`
      writeFileSync(ballast, Buffer.alloc(2 * 2 ** 20))
      const backend = await openSqlite({ file })
      await backend.createQueue({ queue: 'q' })

      const acknowledged = await fillUp(backend)
      assert.ok(acknowledged > 10)
      await assert.rejects(backend.send({ queue: 'q', messages: batch }), { code: 'store_full' })
      assert.equal((await backend.queueStatistics({ queue: 'q' })).ready, acknowledged * 10)

      rmSync(ballast)
      const more = await fillUp(backend)
      assert.ok(more > 0, 'the freed space was not used')
      const expected = (acknowledged + more) * 10
      assert.equal((await backend.queueStatistics({ queue: 'q' })).ready, expected)
      await backend.close()
      assertSoundStore(file)
    }))

  test.each([
    ['3m', 1_000],
    ['16m', 1_000],
    ['16m', 100_000],
    ['80m', 200_000],
  ])('of %s can be drained, and takes messages again (%d bytes each)', (size, bytes) =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const backend = await openQueues(file)
      const messages = batch.map(() => ({ body: 'b'.repeat(bytes) }))
      const sent = (await fillUp(backend, messages)) * messages.length
      assert.ok(sent > 0)

      const receive = (): Promise<readonly Delivery[]> => backend.receive({ queue: 'q', max: 3 })
      await settleAll(backend, await receive(), { kind: 'retry', delayMs: 0 })
      await settleAll(backend, await receive(), { kind: 'deadLetter', reason: 'no use' })
      await backend.sweep()
      await backend.check()
      assert.equal(await drain(backend), sent - 3)
      assert.equal(await drain(backend, 'dead'), 3)

      // The room in the file is used again.
      const again = (await fillUp(backend, messages)) * messages.length
      assert.ok(again >= sent / 2, `took only ${again} of ${sent}`)
      await backend.purgeQueue({ queue: 'q' })
      while ((await backend.sweep()).more);
      assert.ok((await fillUp(backend, messages)) > 0)
      await backend.close()
      assertSoundStore(file)
    }, size),
  )

  test('can be drained by an app that is opened after the reserve was used', () =>
    onSmallDisk(async (disk) => {
      const WORK = z.string()
      const app = defineApp('full', {
        queues: { plain: queue({ deadLetter: { after: 3 } }), work: jobs({ types: { WORK } }) },
      })
      const first = await open(app, { data: disk })
      const name = first.queues.plain.name
      const fill = async (): Promise<number> => {
        for (let sent = 0; ; sent += 10) {
          try {
            await first.queues.plain.sendMany(batch.map(({ body }) => body))
          } catch (error) {
            assert.ok(error instanceof MillraceError)
            assert.equal(error.code, 'store_full')
            return sent
          }
        }
      }
      const sent = await fill()
      fillWithBallast(disk)
      const storeFile = first.storeFile ?? ''
      const store = await openSqlite({ file: storeFile })
      let drained = 0
      while (existsSync(`${storeFile}-reserve`)) {
        const deliveries = await store.receive({ queue: name, max: 10 })
        assert.ok(deliveries.length > 0, 'the reserve was not needed')
        await settleAll(store, deliveries, { kind: 'acknowledge' }, name)
        drained += deliveries.length
      }
      await store.close()
      await first.close()

      const again = await open(app, { data: disk })
      const backend = await openSqlite({ file: storeFile })
      assert.equal(await drain(backend, name), sent - drained)
      await backend.close()
      await again.close()
      assertSoundStore(storeFile)
    }, '12m'))

  test('can be drained after the store was opened anew', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const first = await openQueues(file)
      const sent = (await fillUp(first)) * batch.length
      await first.close()
      fillWithBallast(disk)

      const backend = await openSqlite({ file })
      await assert.rejects(backend.send({ queue: 'q', messages: batch }), { code: 'store_full' })
      assert.equal(await drain(backend), sent)
      await backend.close()
      assertSoundStore(file)
    }))

  test('is named when there is no room to open the store, and no reserve', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const first = await openQueues(file)
      await first.send({ queue: 'q', messages: batch })
      await first.close()
      rmSync(`${file}-reserve`, { force: true })
      const ballast = fillWithBallast(disk)
      assert.deepEqual(readdirSync(disk).sort(), ['ballast', 'store.db', 'store.db-wake'])

      const message = `${file}: The disk that holds the store is full.`
      const refusal = { code: 'store_full', message, retryable: true }
      await assert.rejects(openSqlite({ file }), refusal)
      await assert.rejects(openSqlite({ file: `${disk}/new.db` }), { code: 'store_full' })

      rmSync(ballast)
      const backend = await openSqlite({ file })
      assert.equal(await drain(backend), batch.length)
      await backend.close()
      assertSoundStore(file)
    }))

  test('is not named when it is read-only', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const first = await openQueues(file)
      await first.close()
      fillWithBallast(disk)
      execFileSync('mount', ['-o', 'remount,ro', disk])
      await assert.rejects(openSqlite({ file }), { code: 'store_unusable' })
    }))

  test('is named when it takes no more files', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const first = await openQueues(file)
      await first.close()
      rmSync(`${file}-reserve`, { force: true })
      for (let made = 0; ; made += 1) {
        try {
          writeFileSync(`${disk}/${made}`, '')
        } catch (error) {
          assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
          break
        }
      }
      await assert.rejects(openSqlite({ file }), { code: 'store_full' })
    }, '6m,nr_inodes=20'))

  test('filled by another program can be drained; sends wait until there is room again', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const backend = await openQueues(file)
      await backend.send({ queue: 'q', messages: batch })
      const sent = batch.length + (await fillUp(backend)) * batch.length
      const other = await openSqlite({ file })
      const ballast = fillWithBallast(disk)

      const refuses = async (store: Backend): Promise<void> => {
        await assert.rejects(store.send({ queue: 'q', messages: batch }), { code: 'store_full' })
        assert.ok(store.jobs !== null)
        const jobs = [{ type: 'A', payload: '1', maxAttempts: 1 }]
        await assert.rejects(store.jobs.enqueue({ queue: 'q', jobs }), { code: 'store_full' })
        using transaction = new DatabaseSync(file)
        transaction.exec('BEGIN')
        const within = { queue: 'q', jobs, transaction }
        assert.throws(() => store.jobs?.enqueueWithin(within), { code: 'store_full' })
      }
      let drained = 0
      const reserve = `${file}-reserve`
      // One after the other, so that the write-ahead log needs more room than there is.
      for (; existsSync(reserve) && drained < sent; drained += 1) {
        const deliveries = await backend.receive({ queue: 'q', max: 1 })
        await settleAll(backend, deliveries, { kind: 'acknowledge' })
      }
      assert.ok(!existsSync(reserve), 'the reserve was not needed')
      await refuses(backend)
      await refuses(other)
      assert.equal(await drain(other), sent - drained)
      await other.close()
      const third = await openSqlite({ file })
      await refuses(third)

      rmSync(ballast)
      await third.send({ queue: 'q', messages: batch })
      assert.ok(statSync(reserve).size > 0)
      await backend.send({ queue: 'q', messages: batch })
      assert.equal(await drain(backend), 2 * batch.length)
      await third.close()
      await backend.close()
      assertSoundStore(file)
    }))

  test('makes the reserve again only where the log fits beside it', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const { bavail, blocks, bsize } = statfsSync(disk)
      // An empty log will grow to a quarter of a megabyte with the next settlements.
      const fileBytes = bavail * bsize - 1.25 * ((blocks * bsize) / 8)
      writeFileSync(file, Buffer.alloc(fileBytes))
      const room = new DiskRoom(file)
      assert.deepEqual([room.isFull, existsSync(`${file}-reserve`)], [true, false])
      truncateSync(file, fileBytes - 2 ** 18)
      room.look()
      assert.deepEqual([room.isFull, existsSync(`${file}-reserve`)], [false, true])
    }))

  test('lets settlements emit while there is room, and always lets plain ones through', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const backend = await openQueues(file)
      const sent = (await fillUp(backend)) * batch.length
      let emitted = 0
      let refused = 0
      for (let received = 0; received < sent; received += 2) {
        const [first, second] = await backend.receive({ queue: 'q', max: 2 })
        assert.ok(first !== undefined && second !== undefined)
        const outcome = { kind: 'acknowledge' } as const
        const emits = batch.map((message) => ({ queue: 'dead', message }))
        const settlements = [
          { receipt: first.receipt, outcome, emits },
          { receipt: second.receipt, outcome },
        ]
        const [emitting, plain] = await backend.settle({ queue: 'q', settlements })
        assert.equal(plain?.status, 'settled')
        if (emitting?.status === 'settled') {
          emitted += emits.length
        } else {
          assert.ok(emitting?.status === 'refused')
          assert.equal(emitting.error.code, 'store_full')
          refused += 1
          await settleAll(backend, [first], outcome)
        }
      }
      assert.ok(emitted > 0 && refused > 0, `emitted ${emitted}, refused ${refused}`)
      assert.equal(await drain(backend, 'dead'), emitted)
      await backend.close()
      assertSoundStore(file)
    }, '3m'))
})
