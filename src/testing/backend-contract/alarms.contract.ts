import assert from 'node:assert/strict'
import type {
  AlarmEvaluation,
  AlarmRecord,
  AlarmState,
  AlarmStore,
  NewNotification,
  Notification,
} from '../../backends/alarm-store.ts'
import type { AlarmRule } from '../../core/alarm-rule.ts'
import { day, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeAlarms(all: ContractSuite): void {
  const suite = all.needing('metrics')
  suite.describe('alarms', () => {
    describeDeclaring(suite)
    describeEvaluating(suite)
    describeHistory(suite)
  })
  suite.describe('notifications', () => describeNotifications(suite))
}

function storeOf({ backend }: Scene): AlarmStore {
  assert.ok(backend.alarms !== null, 'the backend has no alarms')
  return backend.alarms
}

export function alarmRule(name: string, parts: Partial<AlarmRule> = {}): AlarmRule {
  return {
    name,
    description: null,
    severity: 'warning',
    metric: 'depth',
    of: 'q',
    statistic: 'maximum',
    periodMs: minute,
    evaluationPeriods: 1,
    datapointsToAlarm: 1,
    threshold: 100,
    comparison: 'above',
    missingData: 'missing',
    targets: [],
    ...parts,
  }
}

async function declare(scene: Scene, ...rules: readonly AlarmRule[]): Promise<void> {
  await storeOf(scene).declareAlarms({ owner: 'app', rules })
}

async function read(scene: Scene, alarm: string): Promise<AlarmRecord> {
  const record = await storeOf(scene).readAlarm({ alarm })
  assert.ok(record !== undefined, `there is no alarm ${alarm}`)
  return record
}

async function names(scene: Scene, request = { prefix: '' }): Promise<readonly string[]> {
  return (await storeOf(scene).alarmStates(request)).map(({ alarm }) => alarm)
}

interface Result {
  readonly to: AlarmState
  readonly evaluatedAt: number
  readonly notify?: readonly NewNotification[]
}

function evaluationOf(record: AlarmRecord, result: Result): AlarmEvaluation {
  const { alarm, revision, state: from } = record
  return { alarm, revision, from, reason: 'because', notify: [], ...result }
}

/** Whether the state has changed. */
async function evaluate(scene: Scene, record: AlarmRecord, result: Result): Promise<boolean> {
  const evaluations = [evaluationOf(record, result)]
  return (await storeOf(scene).recordEvaluations({ evaluations })).length > 0
}

function describeDeclaring(suite: ContractSuite): void {
  suite.test('an alarm begins without data', async (scene) => {
    const now = await storeOf(scene).now()
    const rule = alarmRule('deep', { severity: 'critical', description: 'too deep' })
    await declare(scene, rule)
    const { since, reason, ...record } = await read(scene, 'deep')
    assert.deepEqual(record, {
      alarm: 'deep',
      owner: 'app',
      rule,
      revision: 1,
      state: 'INSUFFICIENT_DATA',
      evaluatedAt: null,
    })
    assert.ok(since >= now)
    assert.notEqual(reason, '')
    assert.equal(await storeOf(scene).readAlarm({ alarm: 'shallow' }), undefined)
  })

  suite.test('declaring the same again changes nothing', async (scene) => {
    await declare(scene, alarmRule('deep'))
    await evaluate(scene, await read(scene, 'deep'), { to: 'ALARM', evaluatedAt: minute })
    const before = await read(scene, 'deep')
    const { name, ...rest } = alarmRule('deep')
    // The order of its parts means nothing.
    await declare(scene, { ...rest, name })
    assert.deepEqual(await read(scene, 'deep'), before)
  })

  suite.test('an alarm that is declared otherwise starts over', async (scene) => {
    await declare(scene, alarmRule('deep'))
    const old = await read(scene, 'deep')
    await evaluate(scene, old, { to: 'ALARM', evaluatedAt: minute })
    await declare(scene, alarmRule('deep', { threshold: 5 }))
    const { state, evaluatedAt, revision, rule } = await read(scene, 'deep')
    assert.deepEqual([state, evaluatedAt, rule.threshold], ['INSUFFICIENT_DATA', null, 5])
    assert.ok(revision > old.revision)
    const late = { ...old, state: 'INSUFFICIENT_DATA' as const }
    assert.equal(await evaluate(scene, late, { to: 'ALARM', evaluatedAt: 9 * minute }), false)
    assert.equal((await read(scene, 'deep')).state, 'INSUFFICIENT_DATA')
  })

  suite.test('what an owner does not declare any more is forgotten', async (scene) => {
    await declare(scene, alarmRule('a'), alarmRule('b'))
    await storeOf(scene).declareAlarms({ owner: 'other', rules: [alarmRule('c')] })
    await declare(scene, alarmRule('b'))
    assert.deepEqual(await names(scene), ['b', 'c'])
    assert.deepEqual(await names(scene, { prefix: 'c' }), ['c'])
    const ofOther = await storeOf(scene).alarmStates({ prefix: '', owner: 'other' })
    assert.deepEqual(
      ofOther.map(({ alarm }) => alarm),
      ['c'],
    )
  })

  suite.test('a name has one owner: the last, unless that one yields', async (scene) => {
    await declare(scene, alarmRule('a'))
    const other = { owner: 'other', rules: [alarmRule('a', { threshold: 7 }), alarmRule('b')] }
    await storeOf(scene).declareAlarms({ ...other, yields: true })
    const kept = await read(scene, 'a')
    assert.deepEqual([kept.owner, kept.rule.threshold], ['app', 100])
    assert.equal((await read(scene, 'b')).owner, 'other')
    await storeOf(scene).declareAlarms(other)
    const taken = await read(scene, 'a')
    assert.deepEqual([taken.owner, taken.rule.threshold], ['other', 7])
    await declare(scene)
    assert.deepEqual(await names(scene), ['a', 'b'])
  })

  suite.test(
    'an alarm is forgotten as it was seen, and not as it is declared now',
    async (scene) => {
      await declare(scene, alarmRule('a'), alarmRule('b'))
      const [a, b] = await storeOf(scene).alarmStates({ prefix: '' })
      assert.ok(a && b)
      await declare(scene, alarmRule('a', { threshold: 3 }), alarmRule('b'))
      await storeOf(scene).forgetAlarms({ alarms: [a, b] })
      assert.deepEqual(await names(scene), ['a'])
    },
  )

  suite.test('names outside their limits are refused', async (scene) => {
    await rejects(declare(scene, alarmRule('')), 'invalid_argument')
    await rejects(declare(scene, alarmRule('x'.repeat(256))), 'invalid_argument')
    const nobody = storeOf(scene).declareAlarms({ owner: '', rules: [] })
    await rejects(nobody, 'invalid_argument')
    await rejects(storeOf(scene).readAlarm({ alarm: '' }), 'invalid_argument')
  })
}

function describeEvaluating(suite: ContractSuite): void {
  suite.test('an evaluation is the state, its reason and since when', async (scene) => {
    await declare(scene, alarmRule('deep'))
    await scene.advance(10 * second)
    assert.equal(
      await evaluate(scene, await read(scene, 'deep'), { to: 'OK', evaluatedAt: minute }),
      true,
    )
    const first = await read(scene, 'deep')
    assert.deepEqual([first.state, first.reason, first.evaluatedAt], ['OK', 'because', minute])
    await scene.advance(minute)
    assert.equal(await evaluate(scene, first, { to: 'OK', evaluatedAt: 2 * minute }), false)
    const next = await read(scene, 'deep')
    assert.deepEqual([next.evaluatedAt, next.since], [2 * minute, first.since])
  })

  suite.test('of two evaluations of one minute the first counts', async (scene) => {
    await declare(scene, alarmRule('deep'))
    const seen = await read(scene, 'deep')
    const results = await Promise.all([
      evaluate(scene, seen, { to: 'ALARM', evaluatedAt: minute }),
      evaluate(scene, seen, { to: 'ALARM', evaluatedAt: minute }),
    ])
    assert.deepEqual(results.toSorted(), [false, true])
    assert.equal((await storeOf(scene).alarmHistory({ limit: 10 })).items.length, 1)
  })

  suite.test('an earlier evaluation never overwrites a later one', async (scene) => {
    await declare(scene, alarmRule('deep'))
    await evaluate(scene, await read(scene, 'deep'), { to: 'OK', evaluatedAt: 5 * minute })
    const seen = await read(scene, 'deep')
    assert.equal(await evaluate(scene, seen, { to: 'ALARM', evaluatedAt: 4 * minute }), false)
    assert.equal(await evaluate(scene, seen, { to: 'ALARM', evaluatedAt: 5 * minute }), false)
    assert.deepEqual(await read(scene, 'deep'), seen)
  })

  suite.test('each evaluation of a call stands for itself', async (scene) => {
    await declare(scene, alarmRule('a'), alarmRule('b'))
    const a = await read(scene, 'a')
    const b = await read(scene, 'b')
    const evaluations = [
      { ...evaluationOf(a, { to: 'ALARM', evaluatedAt: minute }), revision: 99 },
      evaluationOf(b, { to: 'ALARM', evaluatedAt: minute }),
    ]
    const changed = await storeOf(scene).recordEvaluations({ evaluations })
    assert.deepEqual(
      changed.map(({ alarm, from, to }) => [alarm, from, to]),
      [['b', 'INSUFFICIENT_DATA', 'ALARM']],
    )
    assert.equal((await read(scene, 'a')).state, 'INSUFFICIENT_DATA')
  })

  suite.test('a state that is set by hand lasts until the next evaluation', async (scene) => {
    await declare(scene, alarmRule('deep'))
    const seen = await read(scene, 'deep')
    const { evaluatedAt: _, ...byHand } = evaluationOf(seen, { to: 'ALARM', evaluatedAt: 0 })
    const change = await storeOf(scene).setAlarmState(byHand)
    assert.deepEqual([change?.from, change?.to], ['INSUFFICIENT_DATA', 'ALARM'])
    assert.equal(await storeOf(scene).setAlarmState(byHand), undefined)
    const set = await read(scene, 'deep')
    assert.deepEqual([set.state, set.evaluatedAt], ['ALARM', null])
    assert.equal(await evaluate(scene, set, { to: 'OK', evaluatedAt: minute }), true)
  })

  suite.needing('reopen').test('states survive a restart', async (scene) => {
    await declare(scene, alarmRule('deep'))
    await evaluate(scene, await read(scene, 'deep'), { to: 'ALARM', evaluatedAt: minute })
    const before = await read(scene, 'deep')
    await scene.reopen()
    assert.deepEqual(await read(scene, 'deep'), before)
  })

  suite.test('states that do not exist are refused', async (scene) => {
    await declare(scene, alarmRule('deep'))
    const to = 'RED' as AlarmState
    const wrong = evaluate(scene, await read(scene, 'deep'), { to, evaluatedAt: minute })
    await rejects(wrong, 'invalid_argument')
  })
}

function describeHistory(suite: ContractSuite): void {
  /** Changes the state as often as asked, a minute apart. */
  async function change(scene: Scene, alarm: string, times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      const record = await read(scene, alarm)
      const to = record.state === 'OK' ? 'ALARM' : 'OK'
      const evaluatedAt = (record.evaluatedAt ?? 0) + minute
      assert.equal(await evaluate(scene, record, { to, evaluatedAt }), true)
      await scene.advance(minute)
    }
  }

  suite.test('changes are remembered, newest first, in pages', async (scene) => {
    await declare(scene, alarmRule('a'), alarmRule('b'))
    await change(scene, 'a', 3)
    await change(scene, 'b', 1)
    const { items, next } = await storeOf(scene).alarmHistory({ limit: 3 })
    assert.deepEqual(
      items.map(({ alarm, from, to }) => [alarm, from, to]),
      [
        ['b', 'INSUFFICIENT_DATA', 'OK'],
        ['a', 'ALARM', 'OK'],
        ['a', 'OK', 'ALARM'],
      ],
    )
    assert.ok(next !== undefined)
    const rest = await storeOf(scene).alarmHistory({ limit: 3, after: next })
    assert.deepEqual([rest.items.length, rest.next], [1, undefined])
    const ofA = await storeOf(scene).alarmHistory({ limit: 10, alarm: 'a' })
    assert.deepEqual(
      ofA.items.map(({ to }) => to),
      ['OK', 'ALARM', 'OK'],
    )
    await rejects(storeOf(scene).alarmHistory({ limit: 0 }), 'invalid_argument')
    await rejects(storeOf(scene).alarmHistory({ limit: 1, after: 'x' }), 'invalid_argument')
  })

  suite.test('what is declared anew is a change as well', async (scene) => {
    await declare(scene, alarmRule('a'))
    await change(scene, 'a', 1)
    await declare(scene, alarmRule('a', { threshold: 1 }))
    const { to } = only((await storeOf(scene).alarmHistory({ limit: 1 })).items)
    assert.equal(to, 'INSUFFICIENT_DATA')
  })

  suite.test('changes are forgotten after ninety days', async (scene) => {
    await declare(scene, alarmRule('a'))
    await change(scene, 'a', 2)
    await scene.advance(91 * day)
    await change(scene, 'a', 1)
    assert.equal((await storeOf(scene).alarmHistory({ limit: 10 })).items.length, 1)
  })
}

const hook: NewNotification = { kind: 'webhook', target: 'https://example.com/', body: '{"a":1}' }

async function notify(scene: Scene, ...notifications: readonly NewNotification[]): Promise<void> {
  await declare(scene, alarmRule('told'))
  const record = await read(scene, 'told')
  const to = record.state === 'ALARM' ? 'OK' : 'ALARM'
  const evaluatedAt = (record.evaluatedAt ?? 0) + minute
  assert.equal(await evaluate(scene, record, { to, evaluatedAt, notify: notifications }), true)
}

function take(scene: Scene, limit = 10): Promise<readonly Notification[]> {
  return storeOf(scene).takeNotifications({ limit, leaseMs: 30 * second })
}

function describeNotifications(suite: ContractSuite): void {
  suite.test('come to exist with the change, once', async (scene) => {
    await declare(scene, alarmRule('told'))
    const record = await read(scene, 'told')
    const result = { to: 'ALARM', evaluatedAt: minute, notify: [hook] } as const
    await Promise.all([evaluate(scene, record, result), evaluate(scene, record, result)])
    const { id, key, createdAt, ...taken } = only(await take(scene))
    assert.deepEqual(taken, { ...hook, attempt: 1 })
    assert.ok(createdAt <= (await storeOf(scene).now()))
    assert.notEqual(id, key)
  })

  suite.test('are with one who delivers at a time, oldest first', async (scene) => {
    await notify(scene, hook, { ...hook, kind: 'queue', target: 'q' })
    const [first] = await take(scene, 1)
    const [second_] = await take(scene)
    assert.deepEqual([first?.kind, second_?.kind], ['webhook', 'queue'])
    assert.deepEqual(await take(scene), [])
    await scene.advance(31 * second)
    assert.deepEqual(
      (await take(scene)).map(({ attempt }) => attempt),
      [2, 2],
    )
  })

  suite.test('are gone when they were delivered, or given up', async (scene) => {
    await notify(scene, hook, hook)
    const [first, last] = await take(scene)
    assert.ok(first && last)
    const store = storeOf(scene)
    await store.settleNotification({ id: first.id, outcome: 'delivered' })
    await store.settleNotification({ id: last.id, outcome: 'given_up', error: 'nobody there' })
    await scene.advance(day)
    assert.deepEqual(await take(scene), [])
  })

  suite.test('come again when they failed, after the time asked for', async (scene) => {
    await notify(scene, hook)
    const { id, key } = only(await take(scene))
    const store = storeOf(scene)
    const failed = { id, outcome: 'retry', delayMs: 5 * second, error: 'HTTP 500' } as const
    await store.settleNotification(failed)
    await scene.advance(4 * second)
    assert.deepEqual(await take(scene), [])
    await scene.advance(second)
    const again = only(await take(scene))
    assert.deepEqual([again.attempt, again.key], [2, key])
  })

  suite.test('cannot be settled by somebody whose lease has ended', async (scene) => {
    await notify(scene, hook)
    const late = only(await take(scene))
    await scene.advance(31 * second)
    const now = only(await take(scene))
    const store = storeOf(scene)
    await store.settleNotification({ id: late.id, outcome: 'delivered' })
    const soon = { outcome: 'retry', delayMs: 0, error: 'HTTP 500' } as const
    await store.settleNotification({ id: late.id, ...soon })
    assert.deepEqual(await take(scene), [])
    await store.settleNotification({ id: now.id, ...soon })
    assert.equal(only(await take(scene)).attempt, 3)
    await rejects(store.settleNotification({ id: 'x', outcome: 'delivered' }), 'invalid_argument')
  })
}
