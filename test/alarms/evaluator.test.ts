/** What an evaluation can rely on, and what it does when one alarm cannot be judged. */
import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { appAlarmSource } from '../../src/app/app-alarms.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { notEmptyRule } from '../../src/contracts/resolve-alarms.ts'
import { resolveQueues } from '../../src/contracts/resolve-queues.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { defineApp, queue } from '../../src/index.ts'
import { AlarmEvaluator } from '../../src/maintenance/alarms/alarm-evaluator.ts'
import { type VirtualClock, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { minute } from './alarm-scene.ts'

const rules = ['first', 'second'].map((of) => notEmptyRule(of, { name: `${of}-not-empty` }))

const onChange = (): void => undefined

interface Scene {
  readonly backend: Backend
  readonly clock: VirtualClock
  readonly alarms: NonNullable<Backend['alarms']>
  readonly metrics: NonNullable<Backend['metrics']>
}

/** Two queues with a message each, and an alarm of a stack on both. */
async function openScene(): Promise<Scene> {
  const folder = await temporaryFolder('evaluator')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  const { alarms, metrics } = backend
  assert.ok(alarms !== null && metrics !== null)
  for (const { of } of rules) {
    await backend.createQueue({ queue: of })
    await backend.send({ queue: of, messages: [{ body: 'dead' }] })
  }
  await alarms.declareAlarms({ owner: 'stacks', rules })
  await ports.clock.advance(minute)
  return { backend, clock: ports.clock, alarms, metrics }
}

async function statesOf({ alarms }: Scene): Promise<readonly string[]> {
  return (await alarms.alarmStates({ prefix: '' })).map(({ state }) => state)
}

test('a minute that ends while the one before is written down is written down too', async () => {
  const scene = await openScene()
  const { backend, clock, metrics, alarms } = scene
  const evaluator = new AlarmEvaluator({ backend, onChange })
  await evaluator.evaluate()
  assert.deepEqual(await statesOf(scene), ['ALARM', 'ALARM'])
  let isSlow = true
  const slow: typeof metrics = Object.create(metrics, {
    sample: {
      value: async () => {
        const report = await metrics.sample()
        if (isSlow) await clock.advance(minute)
        isSlow = false
        return report
      },
    },
  })
  const { flows } = backend
  const readQueue: Backend['readQueue'] = (request) => backend.readQueue(request)
  const changed = await new AlarmEvaluator({
    backend: { alarms, metrics: slow, flows, readQueue },
    onChange,
  }).evaluate()
  assert.deepEqual([isSlow, changed], [false, []])
})

test('an alarm that cannot be judged keeps no other from ringing, and is reported', async () => {
  const scene = await openScene()
  const { backend, alarms, metrics } = scene
  const readQueue: Backend['readQueue'] = (request) =>
    request.queue === 'first'
      ? Promise.reject(new MillraceError('unsupported'))
      : backend.readQueue(request)
  const { flows } = backend
  const partly = { alarms, metrics, flows, readQueue }
  const evaluator = new AlarmEvaluator({ backend: partly, onChange })
  await assert.rejects(evaluator.evaluate(), { code: 'unsupported' })
  assert.deepEqual(await statesOf(scene), ['INSUFFICIENT_DATA', 'ALARM'])
})

test('an app leaves dead letters to a stack only while somebody evaluates its alarms', async () => {
  const { backend, clock } = await openScene()
  const app = defineApp('shop', { queues: { orders: queue({ deadLetter: {} }) } })
  const resolved = resolveQueues(app, 'dev')
  const [of = ''] = resolved.planned.flatMap(({ settings }) => settings.deadLetter?.queue ?? [])
  await backend.createQueue({ queue: of })
  await backend.alarms?.declareAlarms({
    owner: 'stacks',
    rules: [notEmptyRule(of, { name: 'lost' })],
  })
  const source = appAlarmSource({ app, stage: 'dev', resolved, backend })
  const names = async (): Promise<readonly string[]> =>
    (await source.rules()).map(({ name }) => name)
  assert.deepEqual(await names(), ['shop-dev-orders-dlq-not-empty'])
  await new AlarmEvaluator({ backend, onChange }).evaluate()
  assert.deepEqual(await names(), [])
  await clock.advance(6 * minute)
  assert.deepEqual(await names(), ['shop-dev-orders-dlq-not-empty'])
})
