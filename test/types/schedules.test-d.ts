import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  defineApp,
  fifo,
  jobs,
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
const shop = defineApp('shop', {
  queues: {
    mail: jobs({ types: { DIGEST: z.object({ user: z.number(), tags: z.array(z.string()) }) } }),
    reports: queue({ schema: z.object({ kind: z.enum(['daily', 'weekly']) }) }),
    ticks: queue({ schema: z.object({ at: z.string() }) }),
    orders: fifo(),
  },
})
const plain = defineApp('plain', { queues: { reports: queue() } })

declare const mill: Mill<typeof reports>
declare const without: Mill<typeof plain>
declare const any: Mill
declare const open: Mill<typeof shop>

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

describe('a declared schedule', () => {
  const { queues } = shop
  const every = { every: '1h' } as const

  test('has a payload that fits, fixed or made for each tick', () => {
    defineApp('shop', {
      queues,
      schedules: {
        digest: schedule({
          ...every,
          job: { queue: 'mail', type: 'DIGEST', owner: 'anna', attempts: 2 },
          payload: { user: 7, tags: ['a'] },
        }),
        report: schedule({ ...every, send: { queue: 'reports' }, payload: { kind: 'daily' } }),
        made: schedule({
          ...every,
          send: { queue: 'reports' },
          payload: async () => ({ kind: 'weekly' as const }),
        }),
        tick: schedule({ ...every, send: { queue: 'ticks' } }),
        order: schedule({ ...every, send: { queue: 'orders', group: 'g' } }),
      },
    })
  })

  test('has no other payload, queue or type', () => {
    const reports = { send: { queue: 'reports' } } as const
    const otherKind = schedule({ ...every, ...reports, payload: { kind: 'x' } })
    // @ts-expect-error no such kind
    defineApp('shop', { queues, schedules: { otherKind } })
    const noPayload = schedule({ ...every, ...reports })
    // @ts-expect-error the default payload does not fit
    defineApp('shop', { queues, schedules: { noPayload } })
    const madeOther = schedule({ ...every, ...reports, payload: () => 7 })
    // @ts-expect-error the function makes something else
    defineApp('shop', { queues, schedules: { madeOther } })
    const noQueue = schedule({ ...every, send: { queue: 'tick' } })
    // @ts-expect-error no such queue
    defineApp('shop', { queues, schedules: { noQueue } })
    const toJobs = schedule({ ...every, send: { queue: 'mail' } })
    // @ts-expect-error jobs need a type
    defineApp('shop', { queues, schedules: { toJobs } })
    const noType = schedule({ ...every, job: { queue: 'mail', type: 'DIGST' } })
    // @ts-expect-error no such type
    defineApp('shop', { queues, schedules: { noType } })
    // @ts-expect-error no such option
    schedule({ ...every, ...reports, catchUp: true })
  })
})

describe('a schedule that is set', () => {
  const every = { every: '1h' } as const
  const digest = { ...every, job: { queue: 'mail', type: 'DIGEST' } } as const

  test('is typed by the queue or the job type', () => {
    const payload = { user: 7, tags: ['a'] }
    expectTypeOf(open.schedules.set('digest/7', { ...digest, payload })).resolves.toEqualTypeOf<
      'created' | 'changed' | 'unchanged'
    >()
    open.schedules.set('tick', { ...every, send: { queue: 'ticks' } })
    open.schedules.set('order', { ...every, send: { queue: 'orders', group: 'g' }, payload: [1] })
    const cron = { cron: '0 9 * * *', timezone: 'Europe/Berlin', until: new Date(1) } as const
    open.schedules.set('report', {
      ...cron,
      send: { queue: 'reports' },
      payload: { kind: 'daily' },
    })
    open.schedules.setMany([{ ...digest, name: 'digest/7', payload }])
    expectTypeOf(open.schedules.get('digest/7')).toEqualTypeOf<ScheduleHandle>()
    expectTypeOf(open.schedules.list()).resolves.toHaveProperty('items')
  })

  test('may name any queue if the app is not known', () => {
    any.schedules.set('x', { ...every, send: { queue: 'anything' }, payload: [1] })
    any.schedules.set('x', { ...every, job: { queue: 'mail', type: 'DIGEST' }, payload: {} })
  })

  test('refuses what does not fit', () => {
    // @ts-expect-error the payload is missing
    open.schedules.set('digest/7', digest)
    // @ts-expect-error the payload does not fit
    open.schedules.set('digest/7', { ...digest, payload: { user: '7', tags: [] } })
    // @ts-expect-error a function cannot be stored
    open.schedules.set('digest/7', { ...digest, payload: () => ({ user: 7, tags: [] }) })
    // @ts-expect-error no such queue
    open.schedules.set('x', { ...every, send: { queue: 'tick' } })
    // @ts-expect-error no FIFO queue
    open.schedules.set('x', { ...every, send: { queue: 'ticks', group: 'g' } })
    // @ts-expect-error either job or send
    open.schedules.set('x', { ...every, send: { queue: 'ticks' }, job: digest.job })
    // @ts-expect-error an entry of many has a name
    open.schedules.setMany([{ ...every, send: { queue: 'ticks' } }])
  })
})
