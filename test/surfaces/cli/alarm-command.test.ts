/** `millrace alarm`: what an operator sees and tests, beside whoever evaluates the alarms. */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { describe, test } from 'vitest'
import { notEmptyRule } from '../../../src/contracts/resolve-alarms.ts'
import type { AlarmRule, AlarmState } from '../../../src/core/alarm-rule.ts'
import { assertRefused, cliScene, type StoreScene } from './cli-scene.ts'

const quiet = notEmptyRule('orders-dlq', { name: 'orders-dlq-not-empty' })
const deep: AlarmRule = {
  ...quiet,
  name: 'orders-deep',
  description: 'Too many orders.',
  severity: 'warning',
  of: 'orders',
  threshold: 100,
  evaluationPeriods: 5,
  datapointsToAlarm: 4,
  targets: [{ kind: 'webhook', target: 'https://hooks.example.com/secret', on: ['ALARM'] }],
}

/** A store with two alarms, which are in these states. */
async function alarmScene(state: AlarmState = 'ALARM'): Promise<StoreScene> {
  const scene = await cliScene()
  const { backend } = await scene.store()
  const { alarms } = backend
  assert.ok(alarms !== null)
  await alarms.declareAlarms({ owner: 'app shop dev', rules: [deep, quiet] })
  const evaluated = { revision: 1, from: 'INSUFFICIENT_DATA', evaluatedAt: 60_000 } as const
  const result = { ...evaluated, reason: 'found out', notify: [] }
  await alarms.recordEvaluations({
    evaluations: [
      { ...result, alarm: deep.name, to: 'OK' },
      { ...result, alarm: quiet.name, to: state },
    ],
  })
  return { ...scene, backend }
}

describe('alarms', () => {
  test('are listed, those that ring first', async () => {
    const { good, read } = await alarmScene()
    const [head = '', first = '', second = ''] = (await good('alarm', 'list')).split('\n')
    assert.match(head, /^STATE +SEVERITY +NAME +OF +CONDITION +SINCE$/)
    assert.match(first, /^ALARM +critical +orders-dlq-not-empty +orders-dlq +depth above 0 for 1m /)
    assert.match(second, /^OK +warning +orders-deep .*depth above 100, 4 of 5 periods of 1m/)
    const { alarms } = await read('alarm', 'list', '--state', 'OK')
    assert.deepEqual(
      alarms.map(({ name, state }: { name: string; state: string }) => [name, state]),
      [['orders-deep', 'OK']],
    )
    const none = await good('alarm', 'list', '--state', 'INSUFFICIENT_DATA')
    assert.equal(none, '')
  })

  test('are shown one by one', async () => {
    const { good, read } = await alarmScene()
    const sheet = await good('alarm', 'show', 'orders-deep')
    assert.match(sheet, /^orders-deep {2}OK\n/)
    for (const line of [
      /^severity +warning$/m,
      /^reason +found out$/m,
      /^description +Too many orders\.$/m,
      /^watches +ApproximateNumberOfMessagesVisible of orders$/m,
      /^condition +Maximum of depth above 100, 4 of 5 periods of 1m$/m,
      /^actions +webhook https:\/\/hooks\.example\.com on ALARM$/m,
      /^declared by +app shop dev$/m,
      /^evaluated +1970-01-01T00:01:00\.000Z$/m,
    ]) {
      assert.match(sheet, line)
    }
    assert.doesNotMatch(sheet, /secret/)
    const view = await read('alarm', 'show', 'orders-dlq-not-empty')
    assert.deepEqual([view.state, view.severity, view.threshold], ['ALARM', 'critical', 0])
  })

  test('are tested, and it is on the record', async () => {
    const { good, read, backend } = await alarmScene()
    const args = ['alarm', 'test', 'orders-deep', '--by', 'anna', '--reason', 'drill']
    assert.equal(await good(...args), 'orders-deep changed from OK to ALARM.\n')
    assert.equal(await good(...args), 'The alarm is already in ALARM.\n')
    const [told, ...others] =
      (await backend.alarms?.takeNotifications({ limit: 9, leaseMs: 1_000 })) ?? []
    assert.deepEqual([told?.kind, others], ['webhook', []])
    const { changes } = await read('alarm', 'history', 'orders-deep')
    assert.deepEqual(
      changes.map(({ to, reason }: { to: string; reason: string }) => [to, reason]),
      [
        ['ALARM', 'Set by anna: drill'],
        ['OK', 'found out'],
      ],
    )
    const { change } = await read('alarm', 'test', 'orders-deep', '--state', 'OK')
    assert.equal(change.reason, `Set by ${userInfo().username}: test of the actions`)
  })

  test('have a history of all, in pages', async () => {
    const { run, read } = await alarmScene()
    const { stdout, stderr } = await run('alarm', 'history', '--limit', '1')
    assert.match(stdout, /^AT +ALARM +FROM +TO +REASON\n.*orders-dlq-not-empty .* found out\n$/)
    const [, after = ''] = /--after (\S+)/.exec(stderr) ?? []
    const { changes, next } = await read('alarm', 'history', '--after', after)
    assert.deepEqual([changes.length, next], [1, null])
  })

  test('that are forgotten still have their history', async () => {
    const { backend, run, read } = await alarmScene()
    await backend.alarms?.declareAlarms({ owner: 'app shop dev', rules: [quiet] })
    assertRefused(await run('alarm', 'show', 'orders-deep'), 3, /The alarm .* does not exist/)
    const { changes } = await read('alarm', 'history', 'orders-deep')
    assert.deepEqual([changes.length, changes[0].alarm], [1, 'orders-deep'])
  })

  test('that never changed have an empty history', async () => {
    const { backend, run } = await alarmScene()
    const fresh = { ...quiet, name: 'fresh' }
    await backend.alarms?.declareAlarms({ owner: 'app shop dev', rules: [fresh] })
    const { code, stdout, stderr } = await run('alarm', 'history', 'fresh')
    assert.deepEqual([code, stdout], [0, ''])
    assert.match(stderr, /No state changes/)
  })

  test('that do not exist are not found, and one like it is offered', async () => {
    const { run } = await alarmScene()
    for (const verb of ['show', 'test', 'history']) {
      assertRefused(
        await run('alarm', verb, 'orders-dep'),
        3,
        /The alarm .* does not exist.*'orders-deep'/,
      )
    }
    const wrong = await run('alarm', 'test', 'orders-deep', '--state', 'RED')
    assert.equal(wrong.code, 2)
  })
})
