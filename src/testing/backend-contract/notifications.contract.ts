import assert from 'node:assert/strict'
import type { AlarmState, NewNotification, Notification } from '../../backends/alarm-store.ts'
import { alarmRule, alarmsOf, declareRules, evaluate, readAlarm } from './alarm-scene.ts'
import { day, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeNotifications(all: ContractSuite): void {
  const suite = all.needing('metrics')
  suite.describe('notifications', () => {
    describeDelivery(suite)
  })
}

const hook: NewNotification = { kind: 'webhook', target: 'https://example.com/', body: '{"a":1}' }

async function notify(scene: Scene, ...notifications: readonly NewNotification[]): Promise<void> {
  await declareRules(scene, alarmRule('told'))
  const record = await readAlarm(scene, 'told')
  const to = record.state === 'ALARM' ? 'OK' : 'ALARM'
  const evaluatedAt = (record.evaluatedAt ?? 0) + minute
  assert.equal(await evaluate(scene, record, { to, evaluatedAt, notify: notifications }), true)
}

function take(scene: Scene, limit = 10): Promise<readonly Notification[]> {
  return alarmsOf(scene).takeNotifications({ limit, leaseMs: 30 * second })
}

function describeDelivery(suite: ContractSuite): void {
  suite.test('are stored with the change, once', async (scene) => {
    await declareRules(scene, alarmRule('told'))
    const record = await readAlarm(scene, 'told')
    const result = { to: 'ALARM', evaluatedAt: minute, notify: [hook] } as const
    await Promise.all([evaluate(scene, record, result), evaluate(scene, record, result)])
    const { id, key, createdAt, ...taken } = only(await take(scene))
    assert.deepEqual(taken, { ...hook, attempt: 1 })
    assert.ok(createdAt <= (await alarmsOf(scene).now()))
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

  suite.test('are gone when they were delivered or abandoned', async (scene) => {
    await notify(scene, hook, hook)
    const [first, last] = await take(scene)
    assert.ok(first && last)
    const store = alarmsOf(scene)
    await store.settleNotification({ id: first.id, outcome: 'delivered' })
    await store.settleNotification({ id: last.id, outcome: 'given_up', error: 'no listener' })
    await scene.advance(day)
    assert.deepEqual(await take(scene), [])
  })

  suite.test('are retried after a failure, at the time asked for', async (scene) => {
    await notify(scene, hook)
    const { id, key } = only(await take(scene))
    const store = alarmsOf(scene)
    const failed = { id, outcome: 'retry', delayMs: 5 * second, error: 'HTTP 500' } as const
    await store.settleNotification(failed)
    await scene.advance(4 * second)
    assert.deepEqual(await take(scene), [])
    await scene.advance(second)
    const again = only(await take(scene))
    assert.deepEqual([again.attempt, again.key], [2, key])
  })

  suite.test('of an alarm come to a target in the order of its changes', async (scene) => {
    const other = { ...hook, target: 'https://other.example/' }
    await declareRules(scene, alarmRule('told'), alarmRule('apart'))
    const change = async (name: string, to: AlarmState, evaluatedAt: number): Promise<void> => {
      const notify = [hook, other].map((one) => ({ ...one, body: `"${name} ${to}"` }))
      await evaluate(scene, await readAlarm(scene, name), { to, evaluatedAt, notify })
    }
    await change('told', 'ALARM', minute)
    const [first, toOther] = await take(scene)
    assert.ok(first && toOther)
    await scene.advance(second)
    await change('told', 'OK', 2 * minute)
    await change('apart', 'ALARM', minute)
    const store = alarmsOf(scene)
    const bodies = async (): Promise<readonly string[]> =>
      (await take(scene)).map(({ body, target }) => `${body} ${target === hook.target}`)
    assert.deepEqual(await bodies(), ['"apart ALARM" true', '"apart ALARM" false'])
    await store.settleNotification({ id: toOther.id, outcome: 'delivered' })
    assert.deepEqual(await bodies(), ['"told OK" false'])
    await store.settleNotification({ id: first.id, outcome: 'given_up', error: 'no listener' })
    assert.deepEqual(await bodies(), ['"told OK" true'])
  })

  suite.test('cannot be settled after the lease has ended', async (scene) => {
    await notify(scene, hook)
    const late = only(await take(scene))
    await scene.advance(31 * second)
    const now = only(await take(scene))
    const store = alarmsOf(scene)
    await store.settleNotification({ id: late.id, outcome: 'delivered' })
    const soon = { outcome: 'retry', delayMs: 0, error: 'HTTP 500' } as const
    await store.settleNotification({ id: late.id, ...soon })
    assert.deepEqual(await take(scene), [])
    await store.settleNotification({ id: now.id, ...soon })
    assert.equal(only(await take(scene)).attempt, 3)
    await rejects(store.settleNotification({ id: 'x', outcome: 'delivered' }), 'invalid_argument')
  })
}
