import { describe, expectTypeOf, test } from 'vitest'
import {
  defineApp,
  type Mill,
  queue,
  type Schedule,
  type ScheduleHandle,
  schedule,
  type TickFacts,
} from '../../src/index.ts'

const reports = defineApp('reports', {
  queues: { reports: queue() },
  schedules: {
    nightly: schedule({ cron: '0 2 * * *', timezone: 'Europe/Berlin', send: { queue: 'reports' } }),
    hourly: schedule({
      every: '1h',
      send: { queue: 'reports' },
      payload: (tick) => {
        expectTypeOf(tick).toEqualTypeOf<TickFacts>()
        return { at: tick.at }
      },
    }),
  },
})
const plain = defineApp('plain', { queues: { reports: queue() } })

declare const mill: Mill<typeof reports>
declare const without: Mill<typeof plain>
declare const any: Mill

describe('schedules', () => {
  test('have a handle by each key, and by no other', () => {
    expectTypeOf(mill.schedules.nightly).toEqualTypeOf<ScheduleHandle>()
    expectTypeOf(mill.schedules.hourly.read()).resolves.toEqualTypeOf<Schedule>()
    expectTypeOf(mill.schedules.hourly.next(2)).resolves.toEqualTypeOf<readonly Date[]>()
    // @ts-expect-error there is no such schedule
    mill.schedules.weekly
    // @ts-expect-error the app has none
    without.schedules.nightly
    expectTypeOf(any.schedules['weekly']).toEqualTypeOf<ScheduleHandle | undefined>()
    expectTypeOf(any.schedules.get('weekly')).toEqualTypeOf<ScheduleHandle>()
  })

  test('are paused, resumed and run by somebody', () => {
    expectTypeOf(mill.schedules.nightly.runNow({ by: 'anna' })).resolves.toEqualTypeOf<string>()
    // @ts-expect-error nobody signs
    mill.schedules.nightly.pause()
  })

  test('have one rule', () => {
    // @ts-expect-error there is no rule
    schedule({ send: { queue: 'reports' } })
    // @ts-expect-error there are two rules
    schedule({ cron: '* * * * *', every: '1h', send: { queue: 'reports' } })
    // @ts-expect-error an interval is the same in every zone
    schedule({ every: '1h', timezone: 'UTC', send: { queue: 'reports' } })
    // @ts-expect-error no duration
    schedule({ every: '1 hour', send: { queue: 'reports' } })
    // @ts-expect-error no such policy
    schedule({ every: '1h', send: { queue: 'reports' }, missed: 'twice' })
  })
})
