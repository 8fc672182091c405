/** Long spans of virtual time: what nothing happens in costs nothing, and what happens keeps its time. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { assertTimesAsLong } from '../../test/support/processor-time.ts'
import { type App, defineApp } from '../contracts/define-app.ts'
import { flow } from '../contracts/flow-declaration.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { schedule } from '../contracts/schedule-declaration.ts'
import { openForTest, type TestMill, type TestOptions } from './open-for-test.ts'

const Page = z.object({ page: z.number() })

const archive = defineApp('archive', {
  queues: {
    work: jobs({ types: { READ: Page } }),
    waiting: jobs({ types: { SIGN: Page }, expiresAfter: '200d' }),
    held: queue({ visibilityTimeout: '12h', deadLetter: { after: 3 } }),
    done: queue(),
  },
  flows: {
    signing: flow({ units: 'waiting', finalize: 'done', deadline: '100d', onDeadline: 'finalize' }),
    signed: flow({ units: 'waiting', finalize: 'done', onUnitFailure: 'finalize' }),
  },
})

interface Scene<Opened extends App> {
  readonly mill: TestMill<Opened>
  /** When handlers called `note`, in seconds since the start. */
  readonly at: readonly number[]
}

async function scene<const Opened extends App>(
  app: Opened,
  handle: (note: () => void) => NonNullable<TestOptions<Opened>['handle']>,
): Promise<Scene<Opened>> {
  const at: number[] = []
  let now = (): Date => new Date(Number.NaN)
  const note = (): void => void at.push((now().getTime() - Date.UTC(2026, 0, 1)) / 1_000)
  const mill = await openForTest(app, { handle: handle(note) })
  now = mill.now
  onTestFinished(() => mill.close())
  return { mill, at }
}

const day = 86_400
const signature = { id: 'u', type: 'SIGN', payload: { page: 1 } } as const

describe('a long span', () => {
  test('of ten years with one waiting job takes no longer than one of ten days', async () => {
    const { mill, at } = await scene(archive, (note) => ({ READ: note }))
    let passed = 0
    const waitFor = (days: number) => async () => {
      await mill.jobs.enqueue('work', 'READ', { page: 1 }, { delay: `${days}d` })
      await mill.advance(`${days}d`)
      passed += days
      assert.equal(at.at(-1), passed * day)
    }
    // Stepping through idle maintenance would take 365 times as long.
    await assertTimesAsLong({ work: waitFor(3_650), reference: waitFor(10), timesMax: 20 })
  })

  test('has a deadline of a flow at its time, long after the last event', async () => {
    const { mill, at } = await scene(archive, (note) => ({ done: note }))
    await mill.flows.signing.open('s1', { units: [signature], finalize: { message: 1 } })
    await mill.advance('1000d')
    assert.deepEqual(at, [100 * day])
  })

  test('has a job expire at its time, and what follows from it', async () => {
    const { mill, at } = await scene(archive, (note) => ({ done: note }))
    await mill.flows.signed.open('s1', { units: [signature], finalize: { message: 1 } })
    await mill.advance('1000d')
    assert.deepEqual(at, [200 * day])
  })

  test('has each tick of a schedule at its time, and few steps between them', async () => {
    const yearly = defineApp('yearly', {
      queues: { reports: queue() },
      schedules: { report: schedule({ every: '365d', send: { queue: 'reports' } }) },
    })
    const { mill, at } = await scene(yearly, (note) => ({ reports: note }))
    await mill.advance('2000d')
    assert.deepEqual(at.length, 5)
    assert.deepEqual(
      [...new Set(at.map((second, index) => second - (at[index - 1] ?? second)))],
      [0, 365 * day],
    )
  })

  test('has a tick that failed tried again as soon as in production', async () => {
    let failures = 0
    const reports = defineApp('reports', {
      queues: { reports: queue() },
      schedules: {
        report: schedule({
          cron: '0 0 1 7 *',
          send: { queue: 'reports' },
          payload: () => {
            failures += 1
            if (failures <= 2) throw new Error('not ready')
            return {}
          },
        }),
      },
    })
    const { mill, at } = await scene(reports, (note) => ({ reports: note }))
    await mill.advance('365d')
    assert.deepEqual(at, [181 * day + 6])
  })

  test('follows a jump of the wall clock that lasts, also after idle months', async () => {
    const nightly = defineApp('nightly', {
      queues: { reports: queue() },
      schedules: { report: schedule({ cron: '0 0 1 7 *', send: { queue: 'reports' } }) },
    })
    const { mill, at } = await scene(nightly, (note) => ({ reports: note }))
    await mill.advance('180d')
    mill.clock.jumpWall('23h')
    await mill.advance('10m')
    assert.deepEqual(at, [])
    await mill.advance('1h')
    assert.deepEqual(at, [181 * day])
  })
})
