/** Which numbers an alarm looks at: minutes that are known, quiet, missing, and of things but queues. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { notEmptyRule } from '../../src/contracts/resolve-alarms.ts'
import { type AlarmState, alarm, defineApp, flow, queue } from '../../src/index.ts'
import { alarmDatapoints } from '../../src/maintenance/alarms/alarm-datapoints.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { minute, openAlarmScene, times } from './alarm-scene.ts'

const name = 'shop-dev-orders'

describe('a queue in which nothing happens', () => {
  test('is known to be empty, and stays in order', async () => {
    const app = defineApp('shop', {
      queues: { orders: queue() },
      alarms: [alarm.depth('orders').above(2), alarm.oldestAge('orders').above(60)],
    })
    const { watch, state, fill, hold, acknowledge } = await openAlarmScene(app)
    await fill(name, 1)
    await acknowledge(name, await hold(name, 1))
    assert.deepEqual(await watch(`${name}-depth`, 10), times(10, 'OK'))
    assert.equal(await state(`${name}-oldest-age`), 'OK')
  })

  test('breaks a threshold from below as soon as it is too quiet', async () => {
    const app = defineApp('shop', {
      queues: { orders: queue() },
      alarms: [alarm.sent('orders').below(1, { evaluationPeriods: 3 })],
    })
    const { watch, fill } = await openAlarmScene(app)
    await fill(name, 1)
    assert.deepEqual(await watch(`${name}-sent`, 5), [...times(3, 'OK'), 'ALARM', 'ALARM'])
    await fill(name, 1)
    assert.deepEqual(await watch(`${name}-sent`, 1), ['OK'])
  })
})

/** A store without any process that samples, unless the test does. */
async function bareStore() {
  const folder = await temporaryFolder('datapoints')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  const { metrics } = backend
  assert.ok(metrics !== null)
  const rule = notEmptyRule('q', { name: 'a' })
  return {
    backend,
    clock: ports.clock,
    send: (count: number) =>
      backend.send({ queue: 'q', messages: Array.from({ length: count }, () => ({ body: '1' })) }),
    /** Moves to the end of the next minute, and writes it down. */
    async minute() {
      await ports.clock.advance(minute)
      await metrics.sample()
    },
    async values(parts: Partial<typeof rule> = {}) {
      const end = ports.clock.now()
      const points = await alarmDatapoints({ backend, metrics }, { ...rule, ...parts }, end)
      return points.map(({ value }) => value)
    },
  }
}

describe('the datapoints of a queue', () => {
  test('begin with the queue', async () => {
    const scene = await bareStore()
    await scene.clock.advance(10 * minute)
    await scene.backend.createQueue({ queue: 'q' })
    await scene.minute()
    assert.deepEqual(await scene.values({ evaluationPeriods: 3 }), [null, null, null, null, 0])
  })

  test('are missing where messages waited and nobody was there to count them', async () => {
    const scene = await bareStore()
    await scene.backend.createQueue({ queue: 'q' })
    await scene.minute()
    await scene.send(2)
    await scene.minute()
    await scene.clock.advance(2 * minute)
    await scene.minute()
    assert.deepEqual(await scene.values({ evaluationPeriods: 3 }), [0, 2, null, null, 2])
  })

  test('are missing also when the messages were counted last before the first of them', async () => {
    const scene = await bareStore()
    await scene.backend.createQueue({ queue: 'q' })
    await scene.send(2)
    await scene.minute()
    await scene.clock.advance(9 * minute)
    await scene.minute()
    const none = [null, null, null, null]
    assert.deepEqual(await scene.values({ evaluationPeriods: 3 }), [...none, 2])
    await scene.backend.purgeQueue({ queue: 'q' })
    await scene.minute()
    await scene.clock.advance(9 * minute)
    await scene.minute()
    assert.deepEqual(await scene.values({ evaluationPeriods: 3 }), [0, 0, 0, 0, 0])
  })

  test('are taken from windows that slide with the minutes', async () => {
    const scene = await bareStore()
    await scene.backend.createQueue({ queue: 'q' })
    for (const count of [1, 2, 3, 4, 5, 6]) {
      await scene.send(count)
      await scene.minute()
    }
    const sums = { metric: 'sent', statistic: 'sum', periodMs: 2 * minute } as const
    assert.deepEqual(await scene.values(sums), [3, 7, 11])
    await scene.minute()
    assert.deepEqual(await scene.values(sums), [5, 9, 6])
  })

  test.each([
    ['maximum', [3, 10]],
    ['minimum', [1, 6]],
    ['average', [2, 8]],
    ['sum', [4, 16]],
    ['sample_count', [2, 2]],
  ] as const)('are the %s of their minutes', async (statistic, expected) => {
    const scene = await bareStore()
    await scene.backend.createQueue({ queue: 'q' })
    for (const count of [1, 2, 3, 4]) {
      await scene.send(count)
      await scene.minute()
    }
    const values = await scene.values({ statistic, periodMs: 2 * minute })
    assert.deepEqual(values.slice(-2), expected)
  })

  test('are missing in minutes without attempts, where they are a rate of errors', async () => {
    const scene = await bareStore()
    await scene.backend.createQueue({ queue: 'q' })
    await scene.send(8)
    const settle = async (kind: 'acknowledge' | 'retry', count: number): Promise<void> => {
      const deliveries = await scene.backend.receive({ queue: 'q', max: count, waitMs: 0 })
      const outcome = kind === 'retry' ? ({ kind, delayMs: 0 } as const) : ({ kind } as const)
      const settlements = deliveries.map(({ receipt }) => ({ receipt, outcome }))
      await scene.backend.settle({ queue: 'q', settlements })
    }
    await settle('acknowledge', 3)
    await settle('retry', 1)
    await scene.minute()
    await scene.minute()
    await settle('acknowledge', 1)
    await scene.minute()
    const rate = { metric: 'error_rate', statistic: 'average' } as const
    assert.deepEqual(await scene.values(rate), [0.25, null, 0])
    // Over a longer period it is the rate of all attempts, not the middle of the minutes.
    assert.deepEqual((await scene.values({ ...rate, periodMs: 3 * minute })).at(-1), 0.2)
  })
})

describe('an alarm on something else than depth', () => {
  const shop = defineApp('shop', {
    queues: { orders: queue(), packing: queue() },
    flows: {
      parcel: flow({ units: 'packing', deadline: '5m' }),
      parcelAbroad: flow({ units: 'packing', deadline: '5m' }),
    },
    alarms: [
      alarm.received('orders').above(1),
      alarm.emptyReceives('orders').above(2),
      alarm.overdueFlows('parcel').above(0),
      alarm.metric('temperature').atOrAbove(30, { statistic: 'average' }),
    ],
  })

  test('counts receives, and those that found nothing', async () => {
    const { backend, watch, fill, hold } = await openAlarmScene(shop)
    await fill(name, 2)
    for (const _ of [1, 2, 3]) {
      await backend.receive({ queue: 'shop-dev-packing', max: 1, waitMs: 0 })
    }
    await hold(name, 2)
    for (const _ of [1, 2, 3]) await backend.receive({ queue: name, max: 1, waitMs: 0 })
    assert.deepEqual(await watch(`${name}-received`, 2), ['ALARM', 'OK'])
    for (const _ of [1, 2, 3]) await backend.receive({ queue: name, max: 1, waitMs: 0 })
    assert.deepEqual(await watch(`${name}-empty-receives`, 2), ['ALARM', 'OK'])
  })

  test('counts flows that are past their deadline', async () => {
    const { mill, backend, watch, hold, acknowledge } = await openAlarmScene(shop)
    const alarm = 'shop-dev-parcel-overdue'
    await mill.flows.parcel.open('p-1', { units: [{ id: 'u-1', message: 'pack' }] })
    const states = await watch(alarm, 8)
    assert.deepEqual(states.slice(0, 5), times(5, 'OK'))
    assert.equal(states.at(-1), 'ALARM')
    await acknowledge('shop-dev-packing', await hold('shop-dev-packing', 1))
    assert.equal(
      (await backend.flows?.read({ flow: 'shop-dev-parcel', id: 'p-1' }))?.status,
      'finalized',
    )
    assert.equal((await watch(alarm, 2)).at(-1), 'OK')
  })

  test('counts them however many others there are whose name begins alike', async () => {
    const { mill, watch } = await openAlarmScene(shop)
    const units = [{ id: 'u-1', message: 'pack' }]
    await mill.flows.parcel.open('p-1', { units })
    const many = Array.from({ length: 1_001 }, (_, index) => `a-${index}`)
    await Promise.all(many.map((id) => mill.flows.parcelAbroad.open(id, { units })))
    assert.equal((await watch('shop-dev-parcel-overdue', 8)).at(-1), 'ALARM')
  })

  test('compares a value of the app, if it has one', async () => {
    const { mill, watch } = await openAlarmScene(shop)
    const alarm = 'shop-dev-temperature'
    const measured = async (...values: readonly number[]): Promise<AlarmState | undefined> => {
      for (const value of values) await mill.metrics.put('temperature', value)
      return (await watch(alarm, 1)).at(-1)
    }
    assert.equal(await measured(), 'INSUFFICIENT_DATA')
    assert.equal(await measured(29, 30), 'OK')
    assert.equal(await measured(29, 31), 'ALARM')
  })
})
