/** Alarms of an open app: what is evaluated when, by whom, and who hears of it. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test, vi } from 'vitest'
import type { Notice } from '../../src/app/notice.ts'
import { type Mill, type OpenOptions, open } from '../../src/app/open.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { type App, alarm, defineApp, queue } from '../../src/index.ts'
import { createAlarms } from '../../src/operations/alarms/alarms.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { collectingLogger, type LogLine, withTime } from '../support/worker-scene.ts'
import { minute, openAlarmScene, second } from './alarm-scene.ts'

const shop = defineApp('shop', {
  queues: { orders: queue(), events: queue() },
  alarms: [
    alarm.depth('orders').above(2, {
      severity: 'critical',
      actions: [{ queue: 'events' }],
    }),
  ],
})
const depthAlarm = 'shop-dev-orders-depth'

/** Processes on one store, each with a log of its own, and one clock for all. */
async function sharedStore() {
  const folder = await temporaryFolder('alarms')
  const ports = virtualPorts()
  const { clock } = ports
  const opened: { readonly mill: Mill; readonly backend: Backend }[] = []
  onTestFinished(async () => {
    for (const { mill, backend } of opened) {
      await withTime(clock, mill.close())
      await backend.close()
    }
    await folder.remove()
  })
  return {
    clock,
    async openApp(app: App, told?: Pick<OpenOptions, 'log' | 'onNotice'>) {
      const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
      const lines: LogLine[] = []
      const heard = told ?? { log: collectingLogger(lines) }
      const mill = await open(app, { backend, ports, ...heard })
      opened.push({ mill, backend })
      return { mill, backend, lines }
    },
  }
}

function alarmLines(lines: readonly LogLine[]): readonly (readonly unknown[])[] {
  return lines
    .filter(({ message }) => message.startsWith('alarm '))
    .map(({ level, message, fields }) => [level, message, fields['alarm']])
}

describe('the alarms of an open app', () => {
  test('are process warnings when they ring in an app without a log', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
    onTestFinished(() => warned.mockRestore())
    const { clock, openApp } = await sharedStore()
    const { mill, backend } = await openApp(shop, {})
    await clock.advance(minute)
    assert.deepEqual(warned.mock.calls, [])
    const messages = [1, 2, 3].map(() => ({ body: '{}' }))
    await backend.send({ queue: mill.queues['orders']?.name ?? '', messages })
    await clock.advance(2 * minute)
    assert.equal(warned.mock.calls.length, 1)
    const [text, about] = warned.mock.calls[0] ?? []
    assert.match(String(text), /^The alarm shop-dev-orders-depth fired: .*\bis above 2\b/)
    assert.deepEqual(about, { type: 'MillraceWarning', code: 'alarm' })
  })

  test('are told to whoever listens to notices, beside the log', async () => {
    const { openApp } = await sharedStore()
    const notices: Notice[] = []
    const lines: LogLine[] = []
    const log = collectingLogger(lines)
    const { mill } = await openApp(shop, { log, onNotice: (notice) => notices.push(notice) })
    await mill.alarms.test(depthAlarm, { state: 'ALARM', by: 'anna', reason: 'drill' })
    const [notice, ...others] = notices
    assert.deepEqual(others, [])
    assert.ok(notice?.kind === 'alarm')
    assert.deepEqual(
      [notice.alarm, notice.state, notice.was],
      [depthAlarm, 'ALARM', 'INSUFFICIENT_DATA'],
    )
    assert.equal(notice.reason, 'Set by anna: drill')
    assert.deepEqual(alarmLines(lines), [['error', 'alarm ALARM', depthAlarm]])
  })

  test('are there as soon as it is open, and evaluated within a minute', async () => {
    const { clock, openApp } = await sharedStore()
    const { mill } = await openApp(shop)
    const [record, ...others] = await mill.alarms.list()
    assert.deepEqual(others, [])
    assert.deepEqual(
      [record?.alarm, record?.state, record?.evaluatedAt],
      [depthAlarm, 'INSUFFICIENT_DATA', null],
    )
    await clock.advance(minute)
    const evaluated = await mill.alarms.get(depthAlarm)
    assert.deepEqual([evaluated?.state, evaluated?.evaluatedAt], ['OK', clock.now()])
  })

  test('are evaluated five seconds after each minute', async () => {
    const { clock, state, fill } = await openAlarmScene(shop)
    await fill('shop-dev-orders', 3)
    const untilEnd = minute - (clock.now() % minute)
    await clock.advance(untilEnd + 5 * second - 1)
    assert.equal(await state(depthAlarm), 'OK')
    await clock.advance(1)
    assert.equal(await state(depthAlarm), 'ALARM')
  })

  test('can be evaluated at once, but never twice for one minute', async () => {
    const { mill, clock, fill } = await openAlarmScene(shop)
    await fill('shop-dev-orders', 3)
    assert.deepEqual(await mill.alarms.evaluate(), [])
    await clock.advance(minute - (clock.now() % minute))
    const [change, ...others] = await mill.alarms.evaluate()
    assert.deepEqual([change?.from, change?.to, others], ['OK', 'ALARM', []])
    assert.deepEqual(await mill.alarms.evaluate(), [])
  })

  test('change once, whichever of several processes was first', async () => {
    const { clock, openApp } = await sharedStore()
    const processes = [await openApp(shop), await openApp(shop), await openApp(shop)]
    const [first] = processes
    assert.ok(first !== undefined)
    await first.backend.send({
      queue: 'shop-dev-orders',
      messages: [{ body: '1' }, { body: '2' }, { body: '3' }],
    })
    await clock.advance(3 * minute)
    const told = processes.flatMap(({ lines }) => alarmLines(lines))
    assert.deepEqual(told, [['error', 'alarm ALARM', depthAlarm]])
    const { items } = await first.mill.alarms.history()
    assert.deepEqual(
      items.map(({ from, to }) => [from, to]),
      [['INSUFFICIENT_DATA', 'ALARM']],
    )
  })

  test('send their changes to a queue of the app', async () => {
    const { mill, backend, clock, watch, fill, hold, acknowledge } = await openAlarmScene(shop)
    await fill('shop-dev-orders', 3)
    assert.deepEqual(await watch(depthAlarm, 2), ['ALARM', 'ALARM'])
    await acknowledge('shop-dev-orders', await hold('shop-dev-orders', 3))
    assert.deepEqual(await watch(depthAlarm, 1), ['OK'])
    await clock.advance(minute)
    const { items } = await backend.peek({
      queue: mill.queues.events.name,
      state: 'ready',
      limit: 9,
    })
    assert.deepEqual(
      items.map(({ body }) => JSON.parse(body)).map(told),
      // That it was in order at first, nobody had to hear.
      [
        [depthAlarm, 'OK', 'ALARM'],
        [depthAlarm, 'ALARM', 'OK'],
      ],
    )
  })

  test('are put into a state to test them, and decide for themselves again', async () => {
    const { mill, clock, state, lines } = await openAlarmScene(shop)
    const change = await mill.alarms.test(depthAlarm, {
      state: 'ALARM',
      by: 'anna',
      reason: 'drill',
    })
    assert.deepEqual([change?.to, change?.reason], ['ALARM', 'Set by anna: drill'])
    assert.equal(await mill.alarms.test(depthAlarm, { state: 'ALARM', by: 'anna' }), undefined)
    assert.equal(await state(depthAlarm), 'ALARM')
    await clock.advance(minute)
    assert.equal(await state(depthAlarm), 'OK')
    assert.deepEqual(alarmLines(lines).slice(-2), [
      ['error', 'alarm ALARM', depthAlarm],
      ['info', 'alarm OK', depthAlarm],
    ])
    const missing = mill.alarms.test('nothing', { state: 'OK', by: 'anna' })
    await assert.rejects(missing, { code: 'alarm_not_found' })
  })
})

function told(notification: Readonly<Record<string, unknown>>): readonly unknown[] {
  const { AlarmName, OldStateValue, NewStateValue } = notification
  return [AlarmName, OldStateValue, NewStateValue]
}

describe('alarms come and go', () => {
  const rising = defineApp('shop', {
    queues: { orders: queue({ deadLetter: {} }), other: queue() },
    alarms: [alarm.depth('orders').above(2), alarm.depth('other').above(2)],
  })

  async function names(mill: Mill): Promise<readonly string[]> {
    return (await mill.alarms.list()).map((record) => record.alarm)
  }

  test('with their declaration', async () => {
    const { clock, openApp } = await sharedStore()
    const first = await openApp(rising)
    assert.deepEqual(await names(first.mill), [
      'shop-dev-orders-depth',
      'shop-dev-orders-dlq-not-empty',
      'shop-dev-other-depth',
    ])
    await clock.advance(minute)
    const later = defineApp('shop', {
      queues: rising.queues,
      alarms: [alarm.depth('orders').above(3)],
    })
    const { mill } = await openApp(later)
    // An alarm that only the earlier version has stays while that version is open.
    assert.equal((await names(mill)).length, 3)
    // What changed starts over; what did not stays as it was.
    assert.equal((await mill.alarms.get('shop-dev-orders-depth'))?.state, 'INSUFFICIENT_DATA')
    assert.equal((await mill.alarms.get('shop-dev-orders-dlq-not-empty'))?.state, 'OK')
    // A process that has the earlier version open evaluates what is declared now, and leaves it so.
    await clock.advance(3 * minute)
    const kept = await first.mill.alarms.get('shop-dev-orders-depth')
    assert.deepEqual([kept?.state, kept?.rule.threshold], ['OK', 3])
    // Nor does it set anything back when it is opened once more.
    const again = await openApp(rising)
    await clock.advance(10 * minute)
    assert.equal((await mill.alarms.get('shop-dev-orders-depth'))?.rule.threshold, 3)
    for (const { mill: older } of [first, again]) await withTime(clock, older.close())
    await clock.advance(6 * minute)
    assert.deepEqual(await names(mill), ['shop-dev-orders-depth', 'shop-dev-orders-dlq-not-empty'])
  })

  test('with their queue', async () => {
    const { clock, openApp } = await sharedStore()
    const { mill, backend } = await openApp(rising)
    await clock.advance(minute)
    await backend.deleteQueue({ queue: 'shop-dev-other' })
    await clock.advance(2 * minute)
    assert.equal(await mill.alarms.get('shop-dev-other-depth'), undefined)
    await backend.createQueue({ queue: 'shop-dev-other' })
    await clock.advance(2 * minute)
    assert.equal((await mill.alarms.get('shop-dev-other-depth'))?.state, 'OK')
  })

  test('with their queue, also when it was gone between two looks of the app', async () => {
    const { clock, openApp } = await sharedStore()
    const { mill, backend } = await openApp(rising)
    await clock.advance(minute + 10 * second)
    await backend.deleteQueue({ queue: 'shop-dev-other' })
    await clock.advance(minute - (clock.now() % minute))
    // Another process looks first, and finds the queue gone.
    await createAlarms({ backend }).evaluate()
    assert.equal(await mill.alarms.get('shop-dev-other-depth'), undefined)
    await backend.createQueue({ queue: 'shop-dev-other' })
    await clock.advance(2 * minute)
    assert.equal((await mill.alarms.get('shop-dev-other-depth'))?.state, 'OK')
  })

  test('apart from those of other apps and stages', async () => {
    const { openApp } = await sharedStore()
    const { mill } = await openApp(rising)
    const other = await openApp(
      defineApp('bakery', { queues: { bread: queue() }, alarms: [alarm.depth('bread').above(1)] }),
    )
    const staged = await openApp({ ...rising, stage: 'prod' })
    assert.deepEqual(await names(other.mill), ['bakery-dev-bread-depth'])
    assert.equal((await names(mill)).length, 3)
    assert.ok((await names(staged.mill)).every((name) => name.startsWith('shop-prod-')))
    assert.equal(await other.mill.alarms.get('shop-dev-other-depth'), undefined)
  })
})

describe('an alarm that rings', () => {
  const withAlarms = (alarms: App['alarms'] = []): App =>
    defineApp('shop', {
      queues: { orders: queue(), events: queue() },
      alarms,
      alarmActions: [{ queue: 'events' }],
    })
  const watched = withAlarms([alarm.depth('orders').above(2)])

  /** Rings for the app, which is closed then. */
  async function ringing() {
    const store = await sharedStore()
    const { mill, backend } = await store.openApp(watched)
    const messages = [{ body: '1' }, { body: '2' }, { body: '3' }]
    await backend.send({ queue: 'shop-dev-orders', messages })
    await store.clock.advance(2 * minute)
    assert.equal((await mill.alarms.get(depthAlarm))?.state, 'ALARM')
    await withTime(store.clock, mill.close())
    return {
      ...store,
      backend,
      async told() {
        await store.clock.advance(2 * minute)
        const events = { queue: 'shop-dev-events', state: 'ready', limit: 9 } as const
        const { items } = await backend.peek(events)
        return items.map(({ body }) => JSON.parse(body)).map(told)
      },
    }
  }

  const rang = [depthAlarm, 'INSUFFICIENT_DATA', 'ALARM']

  test('is told to have ended when it is declared no more', async () => {
    const scene = await ringing()
    const { mill } = await scene.openApp(withAlarms())
    // Another process may still have the version that declares it.
    assert.equal((await mill.alarms.get(depthAlarm))?.state, 'ALARM')
    await scene.clock.advance(6 * minute)
    assert.deepEqual(await scene.told(), [rang, [depthAlarm, 'ALARM', 'OK']])
    assert.equal(await mill.alarms.get(depthAlarm), undefined)
    const [end] = (await mill.alarms.history({ alarm: depthAlarm })).items
    assert.match(end?.reason ?? '', /not declared any more/)
  })

  test('is told to have ended when its queue is deleted', async () => {
    const scene = await ringing()
    await scene.backend.deleteQueue({ queue: 'shop-dev-orders' })
    // Nobody has the app open; a server looks.
    await scene.clock.advance(minute)
    await createAlarms({ backend: scene.backend }).evaluate()
    await scene.openApp(withAlarms())
    assert.deepEqual(await scene.told(), [rang, [depthAlarm, 'ALARM', 'OK']])
  })

  test('is told to have ended when it does not by another threshold', async () => {
    const scene = await ringing()
    await scene.openApp(withAlarms([alarm.depth('orders').above(5)]))
    assert.deepEqual(await scene.told(), [rang, [depthAlarm, 'INSUFFICIENT_DATA', 'OK']])
  })
})

describe('a clock that is not what it was', () => {
  const idle = defineApp('shop', {
    queues: { orders: queue() },
    alarms: [alarm.sent('orders').below(1, { evaluationPeriods: 3, missingData: 'breaching' })],
  })

  test('set back, repeats nothing and goes on', async () => {
    const { clock, openApp } = await sharedStore()
    const { mill, backend } = await openApp(idle)
    await backend.send({ queue: 'shop-dev-orders', messages: [{ body: '1' }] })
    await clock.advance(2 * minute)
    assert.equal((await mill.alarms.get('shop-dev-orders-sent'))?.state, 'OK')
    clock.jumpWall(-60 * minute)
    // The store's own clock goes on: three minutes later three minutes have passed.
    await clock.advance(minute)
    assert.equal((await mill.alarms.get('shop-dev-orders-sent'))?.state, 'OK')
    await clock.advance(2 * minute)
    const { items } = await mill.alarms.history()
    assert.deepEqual(
      items.map(({ to }) => to),
      ['ALARM', 'OK'],
    )
  })
})
