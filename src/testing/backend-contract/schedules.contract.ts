import assert from 'node:assert/strict'
import type { Emitted } from '../../backends/backend.ts'
import type {
  ScheduleRecord,
  ScheduleStore,
  Tick,
  TickResult,
} from '../../backends/schedule-store.ts'
import { day, hour, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeSchedules(all: ContractSuite): void {
  const suite = all.needing('schedules')
  suite.describe('schedules', () => {
    describeTicks(suite)
    describeEmitted(suite)
    describeControls(suite)
    describeDeclarations(suite)
  })
}

const rule = 'every 1m'
const scope = 'reports/dev'
const schedule = 'reports-dev-nightly'

export function schedulesOf({ backend }: Scene): ScheduleStore {
  assert.ok(backend.schedules !== null)
  return backend.schedules
}

/** A schedule whose first tick is due so long from now, and a queue for its messages. */
async function scheduled(scene: Scene, inMs = 0): Promise<number> {
  await scene.queue('q')
  const store = schedulesOf(scene)
  const nextAt = (await store.now()) + inMs
  await store.ensure({ schedule, scope, rule, nextAt })
  return nextAt
}

const message = (body: string): Emitted => ({ queue: 'q', message: { body } })

async function tick(scene: Scene, dueAt: number, changes: Partial<Tick> = {}): Promise<TickResult> {
  const moved = {
    ...{ schedule, rule, definition: null, dueAt, at: dueAt, nextAt: dueAt + minute, skipped: 0 },
    ...{ emission: message('tick'), ...changes },
  }
  return only(await schedulesOf(scene).tick({ ticks: [moved] }))
}

/** A process that knows no queues. */
const ofNone = { scope, targets: [] }

async function read(scene: Scene): Promise<ScheduleRecord> {
  const record = await schedulesOf(scene).read({ schedule })
  assert.ok(record !== undefined)
  return record
}

function describeTicks(suite: ContractSuite): void {
  suite.test('are due when their time has come, and not before', async (scene) => {
    const nextAt = await scheduled(scene, minute)
    const store = schedulesOf(scene)
    const before = await store.due(ofNone)
    assert.deepEqual([before.schedules, before.nextAt], [[], nextAt])
    await scene.advance(minute)
    const after = await store.due(ofNone)
    assert.equal(only(after.schedules).schedule, schedule)
    assert.deepEqual([after.now >= nextAt, after.nextAt], [true, null])
  })

  suite.test('tick once, however many try at the same moment', async (scene) => {
    const dueAt = await scheduled(scene)
    const results = await Promise.all(Array.from({ length: 8 }, () => tick(scene, dueAt)))
    const statuses = results.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [...Array.from({ length: 7 }, () => 'taken'), 'ticked'])
    assert.deepEqual(await scene.receiveBodies('q'), ['tick'])
    const { ticks, lastAt, nextAt } = await read(scene)
    assert.deepEqual([ticks, lastAt, nextAt], [1, dueAt, dueAt + minute])
  })

  suite.test('do not tick before they are due, whatever the caller sends', async (scene) => {
    const dueAt = await scheduled(scene, minute)
    assert.deepEqual(await tick(scene, dueAt), { status: 'taken' })
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(minute)
    assert.equal((await tick(scene, dueAt)).status, 'ticked')
  })

  suite.test('do not tick for a moment that is over, or by another rule', async (scene) => {
    const dueAt = await scheduled(scene)
    assert.equal((await tick(scene, dueAt - minute)).status, 'taken')
    assert.equal((await tick(scene, dueAt, { rule: 'every 2m' })).status, 'taken')
    assert.equal((await tick(scene, dueAt)).status, 'ticked')
    assert.equal((await tick(scene, dueAt)).status, 'taken')
    assert.equal((await scene.counts('q')).ready, 1)
  })

  suite.test('count what was passed over, and what was abandoned', async (scene) => {
    const dueAt = await scheduled(scene)
    const { emission: _, ...moved } = { emission: undefined, nextAt: dueAt + second }
    const store = schedulesOf(scene)
    const move = { schedule, rule, definition: null, dueAt, at: dueAt, skipped: 3, ...moved }
    assert.deepEqual(await store.tick({ ticks: [move] }), [{ status: 'ticked', id: null }])
    await scene.advance(second)
    const failure = 'The payload does not fit.'
    const later = { ...move, dueAt: dueAt + second, nextAt: null, skipped: 0, failure }
    await store.tick({ ticks: [later] })
    const { ticks, skipped, failed, lastError, lastAt, nextAt } = await read(scene)
    assert.deepEqual([ticks, skipped, failed, lastError], [0, 3, 1, failure])
    assert.deepEqual([lastAt, nextAt], [null, null])
    assert.deepEqual(await store.due(ofNone), {
      now: await store.now(),
      schedules: [],
      nextAt: null,
      unserved: [],
    })
  })

  suite.needing('jumpWall').test('stay due when the wall clock is set back', async (scene) => {
    const dueAt = await scheduled(scene)
    assert.equal((await tick(scene, dueAt)).status, 'ticked')
    scene.jumpWall(-hour)
    assert.deepEqual((await schedulesOf(scene).due(ofNone)).schedules, [])
    await scene.advance(minute)
    assert.equal(only((await schedulesOf(scene).due(ofNone)).schedules).nextAt, dueAt + minute)
    assert.equal((await tick(scene, dueAt + minute)).status, 'ticked')
    assert.equal((await scene.counts('q')).ready, 2)
  })

  suite.needing('jumpWall').test('do not tick while the wall clock is ahead', async (scene) => {
    const dueAt = await scheduled(scene, hour)
    scene.jumpWall(5 * day)
    const { now, schedules, nextAt } = await schedulesOf(scene).due(ofNone)
    assert.deepEqual([schedules, nextAt, now < dueAt], [[], dueAt, true])
    assert.equal((await tick(scene, dueAt)).status, 'taken')
    await scene.advance(3 * second)
    scene.jumpWall(-5 * day)
    await scene.advance(hour)
    assert.equal((await tick(scene, dueAt)).status, 'ticked')
  })

  suite.test('are never further away than their rule says', async (scene) => {
    const dueAt = await scheduled(scene)
    const store = schedulesOf(scene)
    const renew = (nextAt: number | null): Promise<readonly string[]> =>
      store.renew({ scope, schedules: [{ schedule, rule, nextAt }], abandonedAfterMs: minute })
    // As it is worked out by a clock that is five days ahead.
    await tick(scene, dueAt, { at: dueAt + 5 * day, nextAt: dueAt + 5 * day + minute })
    await renew(dueAt + 5 * day + 2 * minute)
    await renew(null)
    assert.equal((await read(scene)).nextAt, dueAt + 5 * day + minute)
    await renew(dueAt + minute)
    assert.equal((await read(scene)).nextAt, dueAt + minute)
    await scene.advance(minute)
    await tick(scene, dueAt + minute)
    assert.equal((await read(scene)).lastAt, dueAt + 5 * day)
  })

  suite.needing('reopen').test('have one next tick after fifty restarts', async (scene) => {
    let dueAt = await scheduled(scene, second)
    for (let restart = 0; restart < 50; restart += 1) {
      await scene.advance(500)
      await scene.reopen()
      const store = schedulesOf(scene)
      // As every start does; the rule is the same, so what is next stays next.
      await store.ensure({ schedule, scope, rule, nextAt: (await store.now()) + hour })
      const { schedules } = await store.due(ofNone)
      if (schedules.length === 0) continue
      assert.equal(only(schedules).nextAt, dueAt)
      const results = [
        await tick(scene, dueAt, { nextAt: dueAt + second }),
        await tick(scene, dueAt),
      ]
      assert.deepEqual(
        results.map(({ status }) => status),
        ['ticked', 'taken'],
      )
      dueAt += second
    }
    const { ticks, nextAt } = await read(scene)
    assert.deepEqual([ticks, nextAt], [25, dueAt])
    assert.equal((await scene.counts('q')).ready, 25)
  })
}

function describeEmitted(suite: ContractSuite): void {
  suite.test('emit in the commit of the tick, or do not tick', async (scene) => {
    const dueAt = await scheduled(scene)
    const emission: Emitted = { queue: 'nowhere', message: { body: 'lost' } }
    const refused = await tick(scene, dueAt, { emission })
    assert.ok(refused.status === 'refused' && refused.error.code === 'queue_not_found')
    const { ticks, nextAt } = await read(scene)
    assert.deepEqual([ticks, nextAt], [0, dueAt])
    assert.equal((await tick(scene, dueAt)).status, 'ticked')
  })

  suite.needing('trackedJobs').test('emit jobs, recognised by their key', async (scene) => {
    const dueAt = await scheduled(scene)
    const job = {
      ...{ type: 'CLEAN', payload: '{}', maxAttempts: 3 },
      idempotency: { key: `${schedule}@${dueAt}`, lifetimeMs: hour },
    }
    const first = await tick(scene, dueAt, { emission: { queue: 'q', job }, nextAt: dueAt })
    const again = await tick(scene, dueAt, { emission: { queue: 'q', job } })
    assert.ok(first.status === 'ticked' && first.id !== null)
    assert.deepEqual(again, first)
    assert.equal((await scene.counts('q')).ready, 1)
    assert.equal((await scene.backend.jobs?.read({ id: first.id }))?.type, 'CLEAN')
  })

  suite.test('wake a receive that waits for a message', async (scene) => {
    const dueAt = await scheduled(scene)
    const received = scene.receiveBodies('q', { waitMs: 5 * second })
    await scene.advance(0)
    await tick(scene, dueAt)
    await scene.advance(0)
    assert.deepEqual(await received, ['tick'])
  })

  suite.test('emit once more by hand, and stay due as they were', async (scene) => {
    const dueAt = await scheduled(scene, minute)
    const store = schedulesOf(scene)
    const result = await store.runNow({ schedule, by: 'anna', emission: message('by hand') })
    assert.notEqual(result?.id, undefined)
    assert.deepEqual(await scene.receiveBodies('q'), ['by hand'])
    const { ticks, nextAt, ranBy, ranAt } = await read(scene)
    assert.deepEqual([ticks, nextAt, ranBy], [0, dueAt, 'anna'])
    assert.equal(ranAt, await store.now())
    const elsewhere = { schedule: 'none', by: 'anna', emission: message('lost') }
    assert.equal(await store.runNow(elsewhere), undefined)
  })
}

function describeControls(suite: ContractSuite): void {
  suite.test('do not tick while they are paused', async (scene) => {
    const dueAt = await scheduled(scene)
    const store = schedulesOf(scene)
    const paused = await store.pause({ schedule, by: 'anna' })
    assert.deepEqual([paused?.pausedBy, paused?.pausedAt], ['anna', await store.now()])
    assert.deepEqual((await store.due(ofNone)).schedules, [])
    assert.equal((await tick(scene, dueAt)).status, 'taken')
    assert.equal((await store.pause({ schedule, by: 'ben' }))?.pausedBy, 'anna')
  })

  suite.test('continue with the tick that a resume names', async (scene) => {
    const dueAt = await scheduled(scene)
    const store = schedulesOf(scene)
    await store.pause({ schedule, by: 'anna' })
    await scene.advance(hour)
    const nextAt = dueAt + hour + minute
    const resumed = await store.resume({ schedule, by: 'ben', nextAt })
    assert.deepEqual([resumed?.nextAt, resumed?.pausedAt], [nextAt, null])
    assert.deepEqual([resumed?.resumedBy, resumed?.resumedAt], ['ben', await store.now()])
    const again = await store.resume({ schedule, by: 'carl', nextAt: nextAt + hour })
    assert.deepEqual([again?.nextAt, again?.resumedBy], [nextAt, 'ben'])
  })

  suite.test('that do not exist are neither paused nor resumed nor read', async (scene) => {
    const store = schedulesOf(scene)
    const none = { schedule: 'none', by: 'anna' }
    assert.equal(await store.pause(none), undefined)
    assert.equal(await store.resume({ ...none, nextAt: null }), undefined)
    assert.equal(await store.read(none), undefined)
  })

  suite.test('refuse arguments that make no sense', async (scene) => {
    const dueAt = await scheduled(scene)
    const store = schedulesOf(scene)
    await rejects(store.pause({ schedule, by: '' }), 'invalid_argument')
    await rejects(store.resume({ schedule, by: 'anna', nextAt: -1 }), 'invalid_argument')
    await rejects(tick(scene, dueAt, { skipped: -1 }), 'invalid_argument')
    await rejects(tick(scene, dueAt, { nextAt: Number.NaN }), 'invalid_argument')
    const long = 'x'.repeat(513)
    await rejects(store.ensure({ schedule: long, scope, rule, nextAt: 1 }), 'invalid_argument')
  })
}

function describeDeclarations(suite: ContractSuite): void {
  suite.test('keep their state while the rule is the same', async (scene) => {
    const dueAt = await scheduled(scene)
    await tick(scene, dueAt)
    await schedulesOf(scene).pause({ schedule, by: 'anna' })
    const before = await read(scene)
    const request = { schedule, scope, rule, nextAt: dueAt + hour }
    assert.deepEqual(await schedulesOf(scene).ensure(request), before)
  })

  suite.test('continue by another rule, with the counts they had', async (scene) => {
    const dueAt = await scheduled(scene)
    await tick(scene, dueAt)
    const request = { schedule, scope, rule: 'every 1h', nextAt: dueAt + hour }
    const { nextAt, ticks, rule: present } = await schedulesOf(scene).ensure(request)
    assert.deepEqual([nextAt, ticks, present], [dueAt + hour, 1, 'every 1h'])
  })

  suite.test('belong to one app, whatever their names begin with', async (scene) => {
    await scheduled(scene)
    const store = schedulesOf(scene)
    const other = { schedule: 'reports-dev-x-weekly', scope: 'reports-dev/x', rule, nextAt: 1 }
    await store.ensure(other)
    await rejects(store.ensure({ ...other, scope }), 'invalid_argument')
    const names = async (of: { readonly scope?: string }): Promise<readonly string[]> =>
      (await store.list({ ...of, limit: 10 })).items.map((one) => one.schedule)
    assert.deepEqual(await names({ scope }), [schedule])
    assert.deepEqual(await names({}), [schedule, other.schedule])
    assert.equal(
      only((await store.due({ scope: other.scope, targets: [] })).schedules).schedule,
      other.schedule,
    )
    assert.deepEqual(await store.renew({ scope, schedules: [], abandonedAfterMs: 0 }), [])
    assert.deepEqual(await names({}), [other.schedule])
  })

  suite.test('are forgotten when no app has had them for long enough', async (scene) => {
    await scheduled(scene)
    const store = schedulesOf(scene)
    const left = { schedule: 'reports-dev-left', scope, rule, nextAt: null }
    await store.ensure(left)
    const renewed = {
      scope,
      schedules: [{ schedule, rule, nextAt: null }],
      abandonedAfterMs: 5 * minute,
    }
    for (let passed = 0; passed < 4; passed += 1) {
      await scene.advance(minute)
      assert.deepEqual(await store.renew(renewed), [])
    }
    assert.equal((await store.list({ scope, limit: 10 })).items.length, 2)
    await scene.advance(minute)
    assert.deepEqual(await store.renew(renewed), [])
    assert.equal(only((await store.list({ scope, limit: 10 })).items).schedule, schedule)
    // The app that declares it learns that it is missing.
    const missing = { ...renewed, schedules: [left] }
    assert.deepEqual(await store.renew(missing), [left.schedule])
  })

  suite.test('keep their rule while some app has it', async (scene) => {
    await scheduled(scene)
    const store = schedulesOf(scene)
    const claim = (text: string): Promise<readonly string[]> => {
      const schedules = [{ schedule, rule: text, nextAt: null }]
      return store.renew({ scope, schedules, abandonedAfterMs: 5 * minute })
    }
    await scene.advance(4 * minute)
    assert.deepEqual(await claim('every 1h'), [])
    assert.deepEqual(await claim(rule), [])
    await scene.advance(4 * minute)
    assert.deepEqual(await claim('every 1h'), [])
    await scene.advance(minute)
    assert.deepEqual(await claim('every 1h'), [schedule])
    assert.equal((await read(scene)).rule, rule)
    const nowhere = { scope: 'other/dev', schedules: [], abandonedAfterMs: 0 }
    await store.renew(nowhere)
    assert.equal((await read(scene)).rule, rule)
    const nonsense = store.renew({ scope, schedules: [], abandonedAfterMs: -1 })
    await rejects(nonsense, 'invalid_argument')
  })

  suite.test('keep names apart that look alike to others', async (scene) => {
    const store = schedulesOf(scene)
    const odd = ['a:b', 'a{b}', 'a/b', 'a*b', "a'b--", 'a%b', 'a_b'].map((one) => `${one};`)
    for (const name of odd) await store.ensure({ schedule: name, scope, rule, nextAt: 1 })
    await store.pause({ schedule: 'a*b;', by: 'anna' })
    const { items } = await store.list({ scope, limit: 10 })
    const paused = items.filter(({ pausedAt }) => pausedAt !== null)
    assert.equal(only(paused).schedule, 'a*b;')
  })
}
