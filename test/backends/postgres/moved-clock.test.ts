/**
 * Leases, delays and retention follow the clock of the database, and no clock that jumps changes them. The tests
 * move the database's clock for the stores alone: a proxy adds an offset wherever a statement asks for the time.
 */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { type Ports, systemPorts } from '../../../src/core/ports.ts'
import { startCommitProxy } from '../../services/commit-proxy.ts'
import { freshDatabase } from '../../services/fresh-database.ts'
import { query } from '../../services/query.ts'

const queue = 'q'
const minute = 60_000
/** Long enough to see that a lease ends, and far shorter than any jump. */
const patienceMs = 20_000

describe('the clocks of processes that differ by twenty minutes', () => {
  test('shorten and lengthen no lease or delay', async () => {
    const { open } = await storeWithClock()
    const [early, late] = [await open(portsAt(-10 * minute)), await open(portsAt(10 * minute))]
    await early.createQueue({ queue })
    for (const [sender, receiver] of [
      [early, late],
      [late, early],
    ] as const) {
      const messages = [{ body: 'delayed', delayMs: 1_000 }]
      await sender.send({ queue, messages })
      const lease = { queue, max: 1, visibilityMs: 1_500 }
      const [first] = await receiver.receive({ ...lease, waitMs: patienceMs })
      assert.ok(first !== undefined, 'the delay has not ended')
      assert.ok(first.leasedAt >= first.sentAt + 1_000, 'the delay has ended early')
      assert.equal(first.leaseExpiresAt - first.leasedAt, 1_500)
      const [second] = await sender.receive({ queue, max: 1, waitMs: patienceMs })
      assert.equal(second?.id, first.id, 'the lease has not ended')
      assert.ok(second.leasedAt >= first.leaseExpiresAt, 'the lease has ended early')
      assert.ok(Math.abs(second.sentAt - Date.now()) < minute)
      await acknowledge(sender, second.receipt)
    }
  })
})

describe('a clock of the database that is set back an hour', () => {
  test('lengthens no lease, and reopens no deduplication', async () => {
    const { open, moveClock } = await storeWithClock()
    const [one, other] = [await open(), await open()]
    await one.createQueue({ queue })
    await one.createQueue({ queue: 'q.fifo' })
    const once = { body: 'once', group: 'g', deduplicationId: 'd' }
    await one.send({ queue: 'q.fifo', messages: [once] })
    await one.send({ queue, messages: [{ body: 'kept' }] })
    await one.receive({ queue, max: 1, visibilityMs: 1_500 })
    await other.readQueue({ queue })
    await moveClock('-1 hour')
    // A lease from before, and one that is given afterwards.
    for (const receiver of [other, one]) {
      const request = { queue, max: 1, visibilityMs: 1_500, waitMs: patienceMs }
      const [delivery] = await receiver.receive(request)
      assert.equal(delivery?.body, 'kept', 'the lease has not ended')
    }
    const [sent] = await other.send({ queue: 'q.fifo', messages: [once] })
    assert.equal(sent?.status, 'duplicate')
  })
})

describe('a clock of the database that is five days ahead for a moment', () => {
  test('ends no lease, no delay and no message', async () => {
    const { open, moveClock } = await storeWithClock()
    const [one, other] = [await open(), await open()]
    await one.createQueue({ queue, settings: { retentionMs: 60 * minute } })
    const messages = [
      { body: 'leased' },
      { body: 'ready' },
      { body: 'delayed', delayMs: 10 * minute },
    ]
    await one.send({ queue, messages })
    await one.receive({ queue, max: 1, visibilityMs: 10 * minute })
    const empty = await emptyQueue(other)
    await moveClock('5 days')
    // Longer than a process relies on a time that it has read.
    assert.deepEqual(await other.receive({ queue: empty, max: 1, waitMs: 2_000 }), [])
    while ((await other.sweep()).more);
    const { ready, leased, delayed } = await other.queueStatistics({ queue })
    assert.deepEqual({ ready, leased, delayed }, { ready: 1, leased: 1, delayed: 1 })
    const deliveries = await other.receive({ queue, max: 10, waitMs: 0 })
    assert.deepEqual(
      deliveries.map(({ body }) => body),
      ['ready'],
    )
    await moveClock('0')
    assert.deepEqual(await one.receive({ queue, max: 10, waitMs: 2_000 }), [])
  })
})

interface ClockScene {
  /** Opens the store in another process, as it were. */
  open(ports?: Ports): Promise<Backend>
  /** @param interval as SQL has it */
  moveClock(interval: string): Promise<void>
}

async function storeWithClock(): Promise<ClockScene> {
  const { url } = await freshDatabase()
  await query(url, "CREATE TABLE moved_clock AS SELECT interval '0' AS ahead")
  const proxy = await startCommitProxy(Number(new URL(url).port))
  onTestFinished(() => proxy.close())
  const moved = '(clock_timestamp() + (SELECT ahead FROM public.moved_clock))'
  proxy.rewrite = (text) => text.replaceAll('clock_timestamp()', moved)
  return {
    async open(ports = systemPorts) {
      const { backend } = await openPostgres({ url: proxy.url(url), ports, connections: 3 })
      onTestFinished(() => backend.close())
      return backend
    },
    moveClock: async (interval) => {
      await query(url, `UPDATE moved_clock SET ahead = '${interval}'`)
    },
  }
}

/** The system's ports, with a wall clock that is wrong by so much. */
function portsAt(offsetMs: number): Ports {
  const { clock } = systemPorts
  return {
    ...systemPorts,
    clock: { now: () => clock.now() + offsetMs, monotonic: () => clock.monotonic() },
  }
}

async function emptyQueue(backend: Backend): Promise<string> {
  await backend.createQueue({ queue: 'empty' })
  return 'empty'
}

async function acknowledge(backend: Backend, receipt: string): Promise<void> {
  const outcome = { kind: 'acknowledge' } as const
  await backend.settle({ queue, settlements: [{ receipt, outcome }] })
}
