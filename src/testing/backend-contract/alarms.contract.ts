import assert from 'node:assert/strict'
import type { AlarmState } from '../../backends/alarm-store.ts'
import type { AlarmRule } from '../../core/alarm-rule.ts'
import {
  alarmRule,
  alarmsOf,
  declareRules,
  evaluate,
  evaluationOf,
  readAlarm,
} from './alarm-scene.ts'
import { day, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeAlarms(all: ContractSuite): void {
  const suite = all.needing('metrics')
  suite.describe('alarms', () => {
    describeDeclaring(suite)
    describeEvaluating(suite)
    describeHistory(suite)
  })
}

async function names(scene: Scene, request = { prefix: '' }): Promise<readonly string[]> {
  return (await alarmsOf(scene).alarmStates(request)).map(({ alarm }) => alarm)
}

function describeDeclaring(suite: ContractSuite): void {
  suite.test('an alarm begins without data', async (scene) => {
    const now = await alarmsOf(scene).now()
    const rule = alarmRule('deep', { severity: 'critical', description: 'too deep' })
    await declareRules(scene, rule)
    const { since, reason, declaredAt, ...record } = await readAlarm(scene, 'deep')
    assert.deepEqual(record, {
      alarm: 'deep',
      owner: 'app',
      rule,
      revision: 1,
      state: 'INSUFFICIENT_DATA',
      evaluatedAt: null,
    })
    assert.ok(since >= now)
    assert.equal(declaredAt, since)
    assert.notEqual(reason, '')
    assert.equal(await alarmsOf(scene).readAlarm({ alarm: 'shallow' }), undefined)
  })

  suite.test('declaring the same again changes nothing', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    await evaluate(scene, await readAlarm(scene, 'deep'), { to: 'ALARM', evaluatedAt: minute })
    const before = await readAlarm(scene, 'deep')
    const { name, ...rest } = alarmRule('deep')
    // The order of its parts means nothing.
    await declareRules(scene, { ...rest, name })
    assert.deepEqual(await readAlarm(scene, 'deep'), before)
  })

  suite.test(
    'versions that share an owner: the newer rule stays while it is declared',
    async (scene) => {
      const abandonedAfterMs = 5 * minute
      const share = (...rules: readonly AlarmRule[]): Promise<void> =>
        alarmsOf(scene).declareAlarms({ owner: 'app', rules, abandonedAfterMs })
      const threshold = async (): Promise<number> => (await readAlarm(scene, 'deep')).rule.threshold
      const older = [alarmRule('deep', { threshold: 1 }), alarmRule('only-old')]
      const newer = [alarmRule('deep', { threshold: 2 }), alarmRule('only-new')]
      await share(...older)
      await share(...newer)
      const { revision } = await readAlarm(scene, 'deep')
      for (let minutes = 0; minutes < 7; minutes += 1) {
        await scene.advance(minute)
        // The older one is opened again, and says so every minute.
        await share(...older)
        assert.equal(await threshold(), 2)
        await share(...newer)
      }
      assert.deepEqual(await names(scene), ['deep', 'only-new', 'only-old'])
      assert.equal((await readAlarm(scene, 'deep')).revision, revision)
      for (let minutes = 0; minutes < 6; minutes += 1) {
        await scene.advance(minute)
        await share(...newer)
      }
      assert.deepEqual(await names(scene), ['deep', 'only-new'])
      // The newer one is withdrawn: the older rule returns when no owner declares the newer one.
      await share(...older)
      assert.equal(await threshold(), 2)
      await scene.advance(5 * minute)
      await share(...older)
      assert.equal(await threshold(), 1)
      assert.deepEqual(await names(scene), ['deep', 'only-old'])
    },
  )

  suite.test('an alarm that is declared otherwise starts over', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    const old = await readAlarm(scene, 'deep')
    await evaluate(scene, old, { to: 'OK', evaluatedAt: minute })
    await declareRules(scene, alarmRule('deep', { threshold: 5 }))
    const { state, evaluatedAt, revision, rule } = await readAlarm(scene, 'deep')
    assert.deepEqual([state, evaluatedAt, rule.threshold], ['INSUFFICIENT_DATA', null, 5])
    assert.ok(revision > old.revision)
    const late = { ...old, state: 'INSUFFICIENT_DATA' as const }
    assert.equal(await evaluate(scene, late, { to: 'ALARM', evaluatedAt: 9 * minute }), false)
    assert.equal((await readAlarm(scene, 'deep')).state, 'INSUFFICIENT_DATA')
  })

  suite.test('an alarm whose rule changes while it is in ALARM is not a new one', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    await evaluate(scene, await readAlarm(scene, 'deep'), { to: 'ALARM', evaluatedAt: minute })
    await declareRules(scene, alarmRule('deep', { threshold: 5 }))
    const { state, evaluatedAt } = await readAlarm(scene, 'deep')
    assert.deepEqual([state, evaluatedAt], ['INSUFFICIENT_DATA', minute])
  })

  suite.test('what an owner does not declare any more is forgotten', async (scene) => {
    await declareRules(scene, alarmRule('a'), alarmRule('b'))
    await alarmsOf(scene).declareAlarms({ owner: 'other', rules: [alarmRule('c')] })
    await declareRules(scene, alarmRule('b'))
    assert.deepEqual(await names(scene), ['b', 'c'])
    assert.deepEqual(await names(scene, { prefix: 'c' }), ['c'])
    const ofOther = await alarmsOf(scene).alarmStates({ prefix: '', owner: 'other' })
    assert.deepEqual(
      ofOther.map(({ alarm }) => alarm),
      ['c'],
    )
  })

  suite.test('a name has one owner: the last, unless that one yields', async (scene) => {
    await declareRules(scene, alarmRule('a'))
    const other = { owner: 'other', rules: [alarmRule('a', { threshold: 7 }), alarmRule('b')] }
    await alarmsOf(scene).declareAlarms({ ...other, yields: true })
    const kept = await readAlarm(scene, 'a')
    assert.deepEqual([kept.owner, kept.rule.threshold], ['app', 100])
    assert.equal((await readAlarm(scene, 'b')).owner, 'other')
    await alarmsOf(scene).declareAlarms(other)
    const taken = await readAlarm(scene, 'a')
    assert.deepEqual([taken.owner, taken.rule.threshold], ['other', 7])
    await declareRules(scene)
    assert.deepEqual(await names(scene), ['a', 'b'])
  })

  suite.test(
    'an alarm is forgotten as it was seen, and not as it is declared now',
    async (scene) => {
      await declareRules(scene, alarmRule('a'), alarmRule('b'))
      const [a, b] = await alarmsOf(scene).alarmStates({ prefix: '' })
      assert.ok(a && b)
      await declareRules(scene, alarmRule('a', { threshold: 3 }), alarmRule('b'))
      await alarmsOf(scene).forgetAlarms({ alarms: [a, b] })
      assert.deepEqual(await names(scene), ['a'])
    },
  )

  suite.test('an alarm is not forgotten while its queue is there', async (scene) => {
    await declareRules(scene, alarmRule('a'), alarmRule('b', { of: 'other' }))
    const alarms = await alarmsOf(scene).alarmStates({ prefix: '' })
    // It exists again, although the caller had found it gone.
    await scene.queue('q')
    await alarmsOf(scene).forgetAlarms({ alarms })
    assert.deepEqual(await names(scene), ['a'])
  })

  suite.test('names outside their limits are refused', async (scene) => {
    await rejects(declareRules(scene, alarmRule('')), 'invalid_argument')
    await rejects(declareRules(scene, alarmRule('x'.repeat(256))), 'invalid_argument')
    const withoutName = alarmsOf(scene).declareAlarms({ owner: '', rules: [] })
    await rejects(withoutName, 'invalid_argument')
    await rejects(alarmsOf(scene).readAlarm({ alarm: '' }), 'invalid_argument')
  })
}

function describeEvaluating(suite: ContractSuite): void {
  suite.test('an evaluation is the state, its reason and since when', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    await scene.advance(10 * second)
    assert.equal(
      await evaluate(scene, await readAlarm(scene, 'deep'), { to: 'OK', evaluatedAt: minute }),
      true,
    )
    const first = await readAlarm(scene, 'deep')
    assert.deepEqual([first.state, first.reason, first.evaluatedAt], ['OK', 'because', minute])
    await scene.advance(minute)
    assert.equal(await evaluate(scene, first, { to: 'OK', evaluatedAt: 2 * minute }), false)
    const next = await readAlarm(scene, 'deep')
    assert.deepEqual([next.evaluatedAt, next.since], [2 * minute, first.since])
  })

  suite.test('of two evaluations of one minute the first counts', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    const seen = await readAlarm(scene, 'deep')
    const results = await Promise.all([
      evaluate(scene, seen, { to: 'ALARM', evaluatedAt: minute }),
      evaluate(scene, seen, { to: 'ALARM', evaluatedAt: minute }),
    ])
    assert.deepEqual(results.toSorted(), [false, true])
    assert.equal((await alarmsOf(scene).alarmHistory({ limit: 10 })).items.length, 1)
  })

  suite.test('an earlier evaluation never overwrites a later one', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    await evaluate(scene, await readAlarm(scene, 'deep'), { to: 'OK', evaluatedAt: 5 * minute })
    const seen = await readAlarm(scene, 'deep')
    assert.equal(await evaluate(scene, seen, { to: 'ALARM', evaluatedAt: 4 * minute }), false)
    assert.equal(await evaluate(scene, seen, { to: 'ALARM', evaluatedAt: 5 * minute }), false)
    assert.deepEqual(await readAlarm(scene, 'deep'), seen)
  })

  suite.test('each evaluation of a call is independent', async (scene) => {
    await declareRules(scene, alarmRule('a'), alarmRule('b'))
    const a = await readAlarm(scene, 'a')
    const b = await readAlarm(scene, 'b')
    const evaluations = [
      { ...evaluationOf(a, { to: 'ALARM', evaluatedAt: minute }), revision: 99 },
      evaluationOf(b, { to: 'ALARM', evaluatedAt: minute }),
    ]
    const changed = await alarmsOf(scene).recordEvaluations({ evaluations })
    assert.deepEqual(
      changed.map(({ alarm, from, to }) => [alarm, from, to]),
      [['b', 'INSUFFICIENT_DATA', 'ALARM']],
    )
    assert.equal((await readAlarm(scene, 'a')).state, 'INSUFFICIENT_DATA')
  })

  suite.test('a state that is set by hand lasts until the next evaluation', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    const seen = await readAlarm(scene, 'deep')
    const { evaluatedAt: _, ...byHand } = evaluationOf(seen, { to: 'ALARM', evaluatedAt: 0 })
    const change = await alarmsOf(scene).setAlarmState(byHand)
    assert.deepEqual([change?.from, change?.to], ['INSUFFICIENT_DATA', 'ALARM'])
    assert.equal(await alarmsOf(scene).setAlarmState(byHand), undefined)
    const set = await readAlarm(scene, 'deep')
    assert.deepEqual([set.state, set.evaluatedAt], ['ALARM', null])
    assert.equal(await evaluate(scene, set, { to: 'OK', evaluatedAt: minute }), true)
  })

  suite.needing('reopen').test('states survive a restart', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    await evaluate(scene, await readAlarm(scene, 'deep'), { to: 'ALARM', evaluatedAt: minute })
    const before = await readAlarm(scene, 'deep')
    await scene.reopen()
    assert.deepEqual(await readAlarm(scene, 'deep'), before)
  })

  suite.test('states that do not exist are refused', async (scene) => {
    await declareRules(scene, alarmRule('deep'))
    const to = 'RED' as AlarmState
    const wrong = evaluate(scene, await readAlarm(scene, 'deep'), { to, evaluatedAt: minute })
    await rejects(wrong, 'invalid_argument')
  })
}

function describeHistory(suite: ContractSuite): void {
  /** Changes the state as often as asked, a minute apart. */
  async function change(scene: Scene, alarm: string, times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      const record = await readAlarm(scene, alarm)
      const to = record.state === 'OK' ? 'ALARM' : 'OK'
      const evaluatedAt = (record.evaluatedAt ?? 0) + minute
      assert.equal(await evaluate(scene, record, { to, evaluatedAt }), true)
      await scene.advance(minute)
    }
  }

  suite.test('changes are remembered, newest first, in pages', async (scene) => {
    await declareRules(scene, alarmRule('a'), alarmRule('b'))
    await change(scene, 'a', 3)
    await change(scene, 'b', 1)
    const { items, next } = await alarmsOf(scene).alarmHistory({ limit: 3 })
    assert.deepEqual(
      items.map(({ alarm, from, to }) => [alarm, from, to]),
      [
        ['b', 'INSUFFICIENT_DATA', 'OK'],
        ['a', 'ALARM', 'OK'],
        ['a', 'OK', 'ALARM'],
      ],
    )
    assert.ok(next !== undefined)
    const rest = await alarmsOf(scene).alarmHistory({ limit: 3, after: next })
    assert.deepEqual([rest.items.length, rest.next], [1, undefined])
    const ofA = await alarmsOf(scene).alarmHistory({ limit: 10, alarm: 'a' })
    assert.deepEqual(
      ofA.items.map(({ to }) => to),
      ['OK', 'ALARM', 'OK'],
    )
    await rejects(alarmsOf(scene).alarmHistory({ limit: 0 }), 'invalid_argument')
    await rejects(alarmsOf(scene).alarmHistory({ limit: 1, after: 'x' }), 'invalid_argument')
  })

  suite.test('what is declared anew is a change as well', async (scene) => {
    await declareRules(scene, alarmRule('a'))
    await change(scene, 'a', 1)
    await declareRules(scene, alarmRule('a', { threshold: 1 }))
    const { to } = only((await alarmsOf(scene).alarmHistory({ limit: 1 })).items)
    assert.equal(to, 'INSUFFICIENT_DATA')
  })

  suite.test('changes are forgotten after ninety days', async (scene) => {
    await declareRules(scene, alarmRule('a'))
    await change(scene, 'a', 2)
    await scene.advance(91 * day)
    await change(scene, 'a', 1)
    assert.equal((await alarmsOf(scene).alarmHistory({ limit: 10 })).items.length, 1)
  })
}
