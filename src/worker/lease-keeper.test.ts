import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Backend, Extend, LeaseStates } from '../backends/backend.ts'
import { openSqlite } from '../backends/sqlite/index.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type VirtualPorts, virtualPorts } from '../testing/virtual-clock.ts'
import {
  type ClaimedLease,
  type HeldLease,
  LeaseKeeper,
  type LeaseKeeperSetup,
} from './lease-keeper.ts'

const queue = 'jobs'
const visibilityMs = 30_000

interface Scene {
  readonly backend: Backend
  readonly ports: VirtualPorts
  readonly keeper: LeaseKeeper
  readonly extended: Extend[]
  readonly looked: LeaseStates[]
  fault: MillraceError | undefined
  /** Receives one job, or message, and has its lease kept. */
  hold(kind?: 'job' | 'message'): Promise<HeldLease>
}

async function openKeeper(
  leaseMs: number = visibilityMs,
  guard?: LeaseKeeperSetup['guard'],
): Promise<Scene> {
  const folder = await temporaryFolder('keeper')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  await backend.createQueue({ queue, settings: { visibilityMs: leaseMs } })
  const extended: Extend[] = []
  const looked: LeaseStates[] = []
  const may = <T>(run: () => Promise<T>): Promise<T> =>
    scene.fault === undefined ? run() : Promise.reject(scene.fault)
  const watched: LeaseKeeperSetup['backend'] = {
    jobs: backend.jobs && {
      ...backend.jobs,
      read: (id) => may(async () => backend.jobs?.read(id)),
    },
    extend: (request) =>
      may(() => {
        extended.push(request)
        return backend.extend(request)
      }),
    leaseStates: (request) =>
      may(() => {
        looked.push(request)
        return backend.leaseStates(request)
      }),
  }
  const keeper = new LeaseKeeper({ backend: watched, ports, guard })
  onTestFinished(async () => {
    keeper.stop()
    await backend.close()
    await folder.remove()
  })
  const scene: Scene = {
    backend,
    ports,
    keeper,
    extended,
    looked,
    fault: undefined,
    async hold(kind = 'job') {
      if (kind === 'job') {
        const jobs = [{ type: 'RUN', payload: '1', maxAttempts: 3 }]
        await backend.jobs?.enqueue({ queue, jobs })
      } else {
        await backend.send({ queue, messages: [{ body: '1' }] })
      }
      const [delivery] = await backend.receive({ queue, max: 1 })
      assert.ok(delivery)
      const { job, receipt } = delivery
      return keeper.hold({ ...claimed(ports), receipt, visibilityMs: leaseMs, jobId: job?.id })
    },
  }
  return scene
}

function claimed(ports: VirtualPorts): Omit<ClaimedLease, 'receipt' | 'jobId'> {
  return { queue, visibilityMs, claimedMs: ports.clock.monotonic(), isWaiting: false }
}

describe('a lease that is kept', () => {
  test('is renewed when a third of it has passed, for as long as it is held', async () => {
    const { keeper, hold, ports, extended, backend } = await openKeeper()
    const held = await hold()
    await ports.clock.advance(9_999)
    assert.equal(extended.length, 0)
    await ports.clock.advance(1)
    assert.deepEqual(extended, [{ queue, leases: [{ receipt: held.receipt, visibilityMs }] }])
    await ports.clock.advance(120_000)
    assert.equal(extended.length, 13)
    assert.equal(held.loss, undefined)
    assert.equal((await backend.receive({ queue, max: 1 })).length, 0)
    keeper.drop(held)
    await ports.clock.advance(120_000)
    assert.equal(extended.length, 13)
    assert.equal((await backend.receive({ queue, max: 1 })).length, 1)
  })

  test('is renewed in one call with the others of its queue, a thousand at a time', async () => {
    const { hold, keeper, ports, extended, looked, backend } = await openKeeper()
    const messages = Array.from({ length: 1_000 }, () => ({ body: '1' }))
    await backend.send({ queue, messages })
    for (const { receipt } of await backend.receive({ queue, max: 1_000 })) {
      keeper.hold({ ...claimed(ports), receipt, jobId: undefined })
    }
    await hold()
    await ports.clock.advance(1_000)
    assert.deepEqual(
      looked.map(({ receipts }) => receipts.length),
      [1_000, 1],
    )
    await ports.clock.advance(9_000)
    assert.deepEqual(
      extended.map(({ leases }) => leases.length),
      [1_000, 1],
    )
  })

  test('is renewed, but not checked, while its end is on the way to the store', async () => {
    const { hold, ports, extended, looked, backend } = await openKeeper()
    const held = await hold()
    held.isSettling = true
    await ports.clock.advance(9_999)
    assert.equal(looked.length, 0)
    await ports.clock.advance(1)
    assert.equal(extended.length, 1)
    const settlements = [{ receipt: held.receipt, outcome: { kind: 'acknowledge' } }] as const
    await backend.settle({ queue, settlements })
    await ports.clock.advance(5_000)
    assert.equal(held.loss, undefined)
  })

  test('ends after twelve hours, and is used to the last of them', async () => {
    const hours = 3_600_000
    const { hold, ports, extended, backend } = await openKeeper(5 * hours)
    const held = await hold()
    await ports.clock.advance(11.9 * hours)
    assert.equal(held.loss, undefined)
    const [last] = extended.at(-1)?.leases ?? []
    assert.ok(last && last.visibilityMs < 5 * hours)
    assert.equal((await backend.receive({ queue, max: 1 })).length, 0)
    await ports.clock.advance(0.1 * hours)
    assert.equal(held.loss, 'lease_lost')
  })

  test('needs nothing of the store when it has just been given', async () => {
    const { hold, ports, looked, extended } = await openKeeper()
    await hold()
    await ports.clock.advance(999)
    assert.deepEqual([looked.length, extended.length], [0, 0])
  })

  test('is not asked about again while the store has not answered', async () => {
    const scene = await openKeeper()
    await scene.hold()
    let asked = 0
    const silent: LeaseKeeperSetup['backend'] = {
      jobs: scene.backend.jobs,
      extend: (request) => scene.backend.extend(request),
      leaseStates: () => {
        asked += 1
        return new Promise(() => undefined)
      },
    }
    const keeper = new LeaseKeeper({ backend: silent, ports: scene.ports, guard: undefined })
    onTestFinished(() => keeper.stop())
    const held = keeper.hold({ ...claimed(scene.ports), receipt: 'r', jobId: 'a job' })
    await scene.ports.clock.advance(29_000)
    assert.deepEqual([asked, held.loss], [1, undefined])
    await scene.ports.clock.advance(1_000)
    assert.equal(held.loss, 'lease_lost')
  })
})

describe('a lease that is lost', () => {
  test('because the job was cancelled is told as that, within a second', async () => {
    const { hold, ports, backend, keeper } = await openKeeper()
    const held = await hold()
    const other = await hold()
    await backend.jobs?.cancel({ id: held.jobId ?? '' })
    assert.equal(keeper.mayLive(held), true)
    await ports.clock.advance(1_000)
    assert.deepEqual([held.loss, other.loss], ['cancelled', undefined])
    assert.equal(keeper.mayLive(held), false)
  })

  test('because the message was purged is told as lost', async () => {
    const { hold, ports, backend } = await openKeeper()
    const held = await hold('message')
    await backend.purgeQueue({ queue })
    await ports.clock.advance(1_000)
    assert.equal(held.loss, 'lease_lost')
  })

  test('because another worker got the message is reported as lost', async () => {
    const { hold, ports, backend } = await openKeeper()
    const held = await hold()
    ports.clock.sleep(visibilityMs + 1)
    await backend.sweep()
    assert.equal((await backend.receive({ queue, max: 1 })).length, 1)
    await ports.clock.advance(1_000)
    assert.equal(held.loss, 'lease_lost')
  })

  test('because the store failed for a whole lease is told as lost, and not before', async () => {
    const scene = await openKeeper()
    const held = await scene.hold()
    scene.fault = new MillraceError('store_failed')
    await scene.ports.clock.advance(29_999)
    assert.equal(held.loss, undefined)
    assert.equal(scene.keeper.mayLive(held), true)
    await scene.ports.clock.advance(1)
    assert.equal(held.loss, 'lease_lost')
    assert.equal(scene.keeper.mayLive(held), false)
  })

  test('is kept after all when the store recovers in time', async () => {
    const scene = await openKeeper()
    const held = await scene.hold()
    scene.fault = new MillraceError('store_failed')
    await scene.ports.clock.advance(25_000)
    scene.fault = undefined
    await scene.ports.clock.advance(60_000)
    assert.equal(held.loss, undefined)
  })

  test('of a short lease is noticed in time as well', async () => {
    const { hold, ports, extended } = await openKeeper(600)
    const held = await hold()
    await ports.clock.advance(200)
    assert.equal(extended.length, 1)
    await ports.clock.advance(10_000)
    assert.equal(held.loss, undefined)
  })
})

describe('a guard', () => {
  const guardOf = (remainingMs: () => number) => {
    const calls: string[] = []
    return {
      calls,
      hold: () => {
        calls.push('hold')
        return 7
      },
      start: () => true,
      renewed: (slot: number) => void calls.push(`renewed ${slot}`),
      drop: (slot: number) => void calls.push(`drop ${slot}`),
      remainingMs: (slot: number) => (slot === 7 ? remainingMs() : 0),
    }
  }

  test('gets every lease, its renewals and its end', async () => {
    const guard = guardOf(() => 0)
    const { hold, keeper, ports } = await openKeeper(visibilityMs, guard)
    const held = await hold()
    await ports.clock.advance(10_000)
    keeper.drop(held)
    assert.deepEqual(guard.calls, ['hold', 'renewed 7', 'drop 7'])
  })

  test('that has kept a lease while this thread could not is believed', async () => {
    let remaining = 5_000
    const scene = await openKeeper(
      visibilityMs,
      guardOf(() => remaining),
    )
    const held = await scene.hold()
    scene.fault = new MillraceError('store_busy')
    await scene.ports.clock.advance(34_000)
    assert.equal(held.loss, undefined)
    assert.equal(scene.keeper.mayLive(held), true)
    remaining = 0
    await scene.ports.clock.advance(1_000)
    assert.equal(held.loss, 'lease_lost')
  })
})
