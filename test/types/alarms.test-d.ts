import { describe, expectTypeOf, test } from 'vitest'
import type { AlarmRecord, AlarmTransition } from '../../src/backend.ts'
import {
  type Alarm,
  alarm,
  defineApp,
  type FlowAlarm,
  flow,
  type Mill,
  type QueueAlarm,
  queue,
  type ValueAlarm,
} from '../../src/index.ts'

const shop = defineApp('shop', {
  queues: { orders: queue({ deadLetter: {} }), events: queue() },
  flows: { packing: flow({ units: 'orders' }) },
  alarms: [
    alarm.dead('*').above(0, { severity: 'critical' }),
    ...['orders', 'events'].map((key) => alarm.depth(key).atOrAbove(10)),
    alarm.overdueFlows('packing').above(0),
    alarm.metric('stuck').above(0, { actions: [{ queue: 'events', on: ['ALARM'] }] }),
  ],
  alarmActions: [{ webhook: 'https://example.com/alarms' }],
})

declare const mill: Mill<typeof shop>

describe('alarms', () => {
  test('are of three kinds, which an app may mix', () => {
    expectTypeOf(alarm.dead('*').above(1)).toEqualTypeOf<QueueAlarm>()
    expectTypeOf(alarm.overdueFlows('packing').below(1)).toEqualTypeOf<FlowAlarm>()
    expectTypeOf(alarm.metric('stuck').atOrBelow(1)).toEqualTypeOf<ValueAlarm>()
    const mixed: readonly Alarm[] = [
      alarm.errorRate('*').above(0.1),
      alarm.metric('stuck').above(0),
    ]
    defineApp('a', { queues: { orders: queue() }, alarms: mixed })
  })

  test('have options of their own words', () => {
    // @ts-expect-error there is no such severity
    alarm.depth('orders').above(1, { severity: 'fatal' })
    // @ts-expect-error there is no such statistic
    alarm.depth('orders').above(1, { statistic: 'p99' })
    // @ts-expect-error an action has a webhook or a queue
    alarm.depth('orders').above(1, { actions: [{ mail: 'a@example.com' }] })
    // @ts-expect-error there is no such state
    alarm.depth('orders').above(1, { actions: [{ queue: 'events', on: ['RED'] }] })
  })

  test('are read and tested by name', () => {
    expectTypeOf(mill.alarms.list()).resolves.toEqualTypeOf<readonly AlarmRecord[]>()
    expectTypeOf(mill.alarms.evaluate()).resolves.toEqualTypeOf<readonly AlarmTransition[]>()
    // @ts-expect-error who did it is part of the record
    mill.alarms.test('shop-dev-orders-depth', { state: 'ALARM' })
  })
})
