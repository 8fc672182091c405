import assert from 'node:assert/strict'
import type { Emitted } from '../../backends/backend.ts'
import type {
  ScheduleChange,
  ScheduleRecord,
  SetSchedule,
  Tick,
  TickResult,
} from '../../backends/schedule-store.ts'
import { hour, minute, only, rejects, type Scene, second } from './scene.ts'
import { schedulesOf } from './schedules.contract.ts'
import type { ContractSuite } from './suite.ts'

export function describeRuntimeSchedules(all: ContractSuite): void {
  const suite = all.needing('schedules')
  suite.describe('schedules that are set at run time', () => {
    describeSetting(suite)
    describeDue(suite)
    describeBatches(suite)
    describeEnds(suite)
    describeListing(suite)
  })
}

const scope = 'reports/dev'
const rule = 'every 1m'
const definition = '{"send":{"queue":"q"}}'
const target = 'q'
const name = 'reports-dev-digest/7'
const served = { scope, targets: [target] }

const message = (body: string, queue = 'q'): Emitted => ({ queue, message: { body } })

function setting(nextAt: number, changes: Partial<SetSchedule> = {}): SetSchedule {
  const what = { schedule: name, rule, definition, target, nextAt, example: message('example') }
  return { ...what, ...changes }
}

/** Sets a schedule whose first tick is due so long from now; its queue exists. */
async function setIn(
  scene: Scene,
  inMs: number,
  changes: Partial<SetSchedule> = {},
): Promise<{ readonly change: ScheduleChange; readonly nextAt: number }> {
  const store = schedulesOf(scene)
  const nextAt = (await store.now()) + inMs
  const schedules = [setting(nextAt, changes)]
  return { change: only(await store.set({ scope, schedules })), nextAt }
}

async function read(scene: Scene, schedule = name): Promise<ScheduleRecord | undefined> {
  return schedulesOf(scene).read({ schedule })
}

function moved(dueAt: number, changes: Partial<Tick> = {}): Tick {
  return {
    ...{ schedule: name, rule, definition, dueAt, at: dueAt, nextAt: dueAt + minute, skipped: 0 },
    ...{ emission: message('tick'), ...changes },
  }
}

async function tick(scene: Scene, ...ticks: readonly Tick[]): Promise<readonly TickResult[]> {
  return schedulesOf(scene).tick({ ticks })
}

function describeSetting(suite: ContractSuite): void {
  suite.test('are created, changed, or left as they are', async (scene) => {
    await scene.queue('q')
    const first = await setIn(scene, minute)
    assert.equal(first.change, 'created')
    await scene.advance(second)
    assert.equal((await setIn(scene, minute)).change, 'unchanged')
    assert.equal((await read(scene))?.nextAt, first.nextAt)
    const other = '{"payload":1,"send":{"queue":"q"}}'
    assert.equal((await setIn(scene, minute, { definition: other })).change, 'changed')
    const changed = await read(scene)
    assert.deepEqual([changed?.definition, changed?.nextAt], [other, first.nextAt])
    const later = await setIn(scene, hour, { rule: 'every 1h', definition: other })
    assert.equal(later.change, 'changed')
    assert.equal((await read(scene))?.nextAt, later.nextAt)
  })

  suite.test('keep their counts and a pause when they change', async (scene) => {
    await scene.queue('q')
    const { nextAt } = await setIn(scene, 0)
    await tick(scene, moved(nextAt))
    await schedulesOf(scene).pause({ schedule: name, by: 'anna' })
    await setIn(scene, hour, { rule: 'every 1h' })
    const record = await read(scene)
    assert.deepEqual([record?.ticks, record?.pausedBy, record?.rule], [1, 'anna', 'every 1h'])
  })

  suite.test('do not go back to a tick that was sent', async (scene) => {
    await scene.queue('q')
    const { nextAt } = await setIn(scene, 0)
    await tick(scene, moved(nextAt))
    // A slow caller has worked out the next tick before that one was sent.
    const late = setting(nextAt, { rule: 'every 30s' })
    await rejects(schedulesOf(scene).set({ scope, schedules: [late] }), 'schedule_ticked')
    assert.equal((await read(scene))?.rule, rule)
    const { change } = await setIn(scene, 30 * second, { rule: 'every 30s' })
    assert.equal(change, 'changed')
  })

  suite.test('are all set, or none', async (scene) => {
    await scene.queue('q')
    const store = schedulesOf(scene)
    const nextAt = await store.now()
    const schedules = [
      setting(nextAt),
      setting(nextAt, { schedule: 'reports-dev-lost', example: message('lost', 'nowhere') }),
    ]
    await rejects(store.set({ scope, schedules }), 'queue_not_found')
    assert.equal(await read(scene), undefined)
    const right = [setting(nextAt), setting(nextAt, { schedule: 'reports-dev-other' })]
    assert.deepEqual(await store.set({ scope, schedules: right }), ['created', 'created'])
  })

  suite.test('are refused when the queue cannot take their message', async (scene) => {
    await scene.queue('small', { messageBytesMax: 1_024 })
    const example = message('x'.repeat(2_000), 'small')
    await rejects(setIn(scene, minute, { example }), 'message_too_large')
    assert.equal(await read(scene), undefined)
    assert.equal((await scene.counts('small')).ready, 0)
  })

  suite.test('have names of their own, beside declared ones and other apps', async (scene) => {
    await scene.queue('q')
    const store = schedulesOf(scene)
    const declared = { schedule: 'reports-dev-nightly', scope, rule, nextAt: 1 }
    await store.ensure(declared)
    await rejects(setIn(scene, 0, { schedule: declared.schedule }), 'invalid_argument')
    await rejects(store.remove({ schedule: declared.schedule }), 'invalid_argument')
    await setIn(scene, 0)
    await rejects(store.ensure({ schedule: name, scope, rule, nextAt: 1 }), 'invalid_argument')
    const elsewhere = store.set({ scope: 'other/dev', schedules: [setting(1)] })
    await rejects(elsewhere, 'invalid_argument')
    assert.equal((await read(scene, declared.schedule))?.definition, null)
    assert.equal((await read(scene))?.definition, definition)
  })

  suite.test('stay when no app renews them', async (scene) => {
    await scene.queue('q')
    await setIn(scene, hour)
    const store = schedulesOf(scene)
    await store.ensure({ schedule: 'reports-dev-nightly', scope, rule, nextAt: 1 })
    await scene.advance(hour)
    await store.renew({ scope, schedules: [], abandonedAfterMs: minute })
    const { items } = await store.list({ limit: 10 })
    assert.equal(only(items).schedule, name)
  })

  suite.test('are removed once', async (scene) => {
    await scene.queue('q')
    const { nextAt } = await setIn(scene, 0)
    const store = schedulesOf(scene)
    assert.equal(await store.remove({ schedule: name }), true)
    assert.equal(await store.remove({ schedule: name }), false)
    assert.deepEqual(await tick(scene, moved(nextAt)), [{ status: 'taken' }])
    assert.equal((await scene.counts('q')).ready, 0)
  })

  suite.test('refuse arguments that make no sense', async (scene) => {
    await scene.queue('q')
    const store = schedulesOf(scene)
    const refused = (schedules: readonly SetSchedule[]): Promise<void> =>
      rejects(store.set({ scope, schedules }), 'invalid_argument')
    await refused([])
    await refused([setting(1), setting(1)])
    await refused([setting(-1)])
    await refused([setting(1, { schedule: '' })])
    await refused([setting(1, { target: '' })])
    await refused([setting(1, { definition: '' })])
    await rejects(store.tick({ ticks: [] }), 'invalid_argument')
    assert.deepEqual((await store.list({ limit: 10 })).items, [])
  })
}

function describeDue(suite: ContractSuite): void {
  suite.test('are due only for processes that know their target', async (scene) => {
    await scene.queue('q')
    const { nextAt } = await setIn(scene, 0)
    const store = schedulesOf(scene)
    const other = await store.due({ scope, targets: ['r'] })
    assert.deepEqual([other.schedules, other.nextAt], [[], null])
    assert.deepEqual(other.unserved, [{ target, dueAt: nextAt }])
    const due = await store.due(served)
    assert.deepEqual(only(due.schedules), await read(scene))
    assert.deepEqual([due.nextAt, due.unserved], [null, []])
  })

  suite.test('share what is handed out by target, the longest overdue first', async (scene) => {
    await scene.queue('q')
    const store = schedulesOf(scene)
    const now = await store.now()
    const many = Array.from({ length: 300 }, (_, index) =>
      setting(now - 1_000 - index, { schedule: `reports-dev-many/${index}` }),
    )
    await store.set({ scope, schedules: many })
    await setIn(scene, 0, { target: 'r' })
    const targets = [target, 'r', 's']
    const { schedules } = await store.due({ scope, targets })
    assert.ok(schedules.length <= 100, `${schedules.length} at once`)
    assert.equal(schedules.at(-1)?.schedule, name)
    const times = schedules.map(({ nextAt }) => nextAt ?? 0)
    assert.deepEqual(
      times.toSorted((one, other) => one - other),
      times,
    )
    assert.equal(times[0], now - 1_299)
  })

  suite.test('have a reported error while no process knows their target', async (scene) => {
    await scene.queue('q')
    await setIn(scene, 0)
    await setIn(scene, minute, { schedule: 'reports-dev-later' })
    const store = schedulesOf(scene)
    const report = { scope, target, overdueMs: minute, error: 'No queue.' }
    assert.equal(await store.reportUnserved(report), 0)
    await scene.advance(minute)
    assert.equal(await store.reportUnserved({ ...report, target: 'r' }), 0)
    assert.equal(await store.reportUnserved(report), 1)
    assert.equal(await store.reportUnserved(report), 0)
    const record = await read(scene)
    assert.deepEqual([record?.lastError, record?.failed], ['No queue.', 0])
    assert.equal((await read(scene, 'reports-dev-later'))?.lastError, null)
    await rejects(store.reportUnserved({ ...report, overdueMs: -1 }), 'invalid_argument')
  })

  suite.needing('jumpWall').test('are lowered like declared ones, and kept', async (scene) => {
    await scene.queue('q')
    const { nextAt } = await setIn(scene, hour)
    const store = schedulesOf(scene)
    const schedules = [{ schedule: name, rule, nextAt: nextAt - minute }]
    assert.deepEqual(await store.renew({ scope, schedules, abandonedAfterMs: minute }), [])
    assert.equal((await read(scene))?.nextAt, nextAt - minute)
    assert.equal((await read(scene))?.definition, definition)
  })
}

function describeBatches(suite: ContractSuite): void {
  suite.test('tick together, each for itself', async (scene) => {
    await scene.queue('q')
    const store = schedulesOf(scene)
    const dueAt = await store.now()
    const names = ['a', 'b', 'c', 'd'].map((one) => `reports-dev-${one}`)
    await store.set({ scope, schedules: names.map((schedule) => setting(dueAt, { schedule })) })
    const [a = '', b = '', c = '', d = ''] = names
    const results = await tick(
      scene,
      moved(dueAt, { schedule: a, emission: message('a') }),
      moved(dueAt - minute, { schedule: b, emission: message('b') }),
      moved(dueAt, { schedule: c, emission: message('c', 'nowhere') }),
      moved(dueAt, { schedule: d, emission: message('d') }),
      moved(dueAt, { schedule: d, emission: message('again') }),
    )
    const expected = ['ticked', 'taken', 'refused', 'ticked', 'taken']
    assert.deepEqual(
      results.map(({ status }) => status),
      expected,
    )
    assert.deepEqual((await scene.receiveBodies('q', { max: 10 })).toSorted(), ['a', 'd'])
    const next = await Promise.all(names.map(async (one) => (await read(scene, one))?.nextAt))
    assert.deepEqual(next, [dueAt + minute, dueAt, dueAt, dueAt + minute])
  })

  suite.test('tick once, however many processes send the same batch', async (scene) => {
    await scene.queue('q')
    const store = schedulesOf(scene)
    const dueAt = await store.now()
    const names = Array.from({ length: 50 }, (_, index) => `reports-dev-${index}`)
    await store.set({ scope, schedules: names.map((schedule) => setting(dueAt, { schedule })) })
    const ticks = names.map((schedule) => moved(dueAt, { schedule }))
    const results = await Promise.all(Array.from({ length: 4 }, () => store.tick({ ticks })))
    const ticked = results.flat().filter(({ status }) => status === 'ticked')
    assert.equal(ticked.length, names.length)
    assert.equal((await scene.counts('q')).ready, names.length)
  })

  suite.test('do not send what was changed meanwhile', async (scene) => {
    await scene.queue('q')
    const { nextAt: dueAt } = await setIn(scene, 0)
    await setIn(scene, 0, { definition: '{"payload":2,"send":{"queue":"q"}}' })
    assert.deepEqual(await tick(scene, moved(dueAt)), [{ status: 'taken' }])
    assert.deepEqual(await scene.receiveBodies('q'), [])
  })
}

function describeEnds(suite: ContractSuite): void {
  suite.test('are removed with their last tick', async (scene) => {
    await scene.queue('q')
    const { nextAt } = await setIn(scene, 0)
    const [result] = await tick(scene, moved(nextAt, { nextAt: null }))
    assert.equal(result?.status, 'ticked')
    assert.equal(await read(scene), undefined)
    assert.deepEqual(await scene.receiveBodies('q'), ['tick'])
  })

  suite.test('are removed when a resume finds no tick left', async (scene) => {
    await scene.queue('q')
    await setIn(scene, minute)
    const store = schedulesOf(scene)
    await store.pause({ schedule: name, by: 'anna' })
    const ended = await store.resume({ schedule: name, by: 'ben', nextAt: null })
    assert.deepEqual([ended?.nextAt, ended?.resumedBy], [null, 'ben'])
    assert.equal(await read(scene), undefined)
  })

  suite.test('stay without a next tick if an app declares them', async (scene) => {
    await scene.queue('q')
    const store = schedulesOf(scene)
    const schedule = 'reports-dev-nightly'
    const dueAt = await store.now()
    await store.ensure({ schedule, scope, rule, nextAt: dueAt })
    await tick(scene, moved(dueAt, { schedule, definition: null, nextAt: null }))
    assert.deepEqual((await read(scene, schedule))?.nextAt, null)
  })
}

function describeListing(suite: ContractSuite): void {
  suite.test('are listed by name, in pages, by prefix and kind', async (scene) => {
    await scene.queue('q')
    const store = schedulesOf(scene)
    const names = ['a/1', 'a/2', 'a/3', 'a%', 'b/1', 'ä/1'].map((one) => `reports-dev-${one}`)
    await store.set({ scope, schedules: names.map((schedule) => setting(1, { schedule })) })
    await store.ensure({ schedule: 'reports-dev-a-night', scope, rule, nextAt: 1 })
    await store.ensure({ schedule: 'reports-dev-x-a', scope: 'reports-dev/x', rule, nextAt: 1 })
    const listed = async (request: object): Promise<readonly string[]> => {
      const found: string[] = []
      let after: string | undefined
      do {
        const page = { limit: 2, ...request, ...(after !== undefined && { after }) }
        const { items, next } = await store.list(page)
        assert.ok(items.length <= 2)
        found.push(...items.map(({ schedule }) => schedule.replace('reports-dev-', '')))
        after = next
      } while (after !== undefined)
      return found
    }
    const all = ['a%', 'a-night', 'a/1', 'a/2', 'a/3', 'b/1', 'x-a', 'ä/1']
    assert.deepEqual(await listed({}), all)
    assert.deepEqual(
      await listed({ scope }),
      all.filter((one) => one !== 'x-a'),
    )
    assert.deepEqual(await listed({ prefix: 'reports-dev-a/' }), ['a/1', 'a/2', 'a/3'])
    assert.deepEqual(await listed({ scope, isDeclared: true }), ['a-night'])
    assert.deepEqual(
      await listed({ scope, isDeclared: false }),
      all.filter((one) => one !== 'x-a' && one !== 'a-night'),
    )
    assert.deepEqual(await listed({ prefix: 'nothing' }), [])
    await rejects(store.list({ limit: 2, prefix: 'b', after: 'a' }), 'invalid_argument')
    await rejects(store.list({ limit: 0 }), 'invalid_argument')
  })
}
