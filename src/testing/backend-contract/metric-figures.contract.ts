import assert from 'node:assert/strict'
import { durationBucket, durationBuckets } from '../../core/duration-buckets.ts'
import { type HandlerFigures, handlerFigures } from '../../core/handler-figures.ts'
import { metricsOf, minutesOf, nextMinute, valuesOf } from './metric-scene.ts'
import { day, hour, minute, only, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeMetricFigures(all: ContractSuite): void {
  const suite = all.needing('metrics')
  describeAttempts(suite)
  describeReports(suite)
  describeSnapshot(suite)
}

function describeAttempts(suite: ContractSuite): void {
  suite.describe('failed attempts and empty receives', () => {
    suite
      .needing('exactFigures')
      .test('retries, burials and lapsed leases are failed attempts', async (scene) => {
        await scene.queueWithDeadLetters('q', 9, { visibilityMs: 30 * second })
        const failed = async (): Promise<number | undefined> =>
          (await metricsOf(scene).snapshot({ limit: 10 })).items.find(({ queue }) => queue === 'q')
            ?.failedAttempts
        await scene.send('q', 'a')
        const outcomes = [
          { kind: 'retry', delayMs: 0 },
          { kind: 'retry', delayMs: second },
          { kind: 'release' },
          { kind: 'deadLetter', reason: 'broken' },
        ] as const
        const seen: (number | undefined)[] = []
        for (const outcome of outcomes) {
          await scene.settle('q', (await scene.receiveOne('q')).receipt, outcome)
          await scene.advance(2 * second)
          await scene.sweep()
          seen.push(await failed())
        }
        assert.deepEqual(seen, [1, 2, 2, 3])
        await scene.send('q', 'b')
        await scene.receiveOne('q')
        await scene.advance(31 * second)
        await scene.sweep()
        assert.equal(await failed(), 4)
      })

    suite.needing('trackedJobs').test('a job that fails for good is one', async (scene) => {
      await scene.queue('q')
      const jobs = [{ type: 'RUN', payload: '1', maxAttempts: 1 }]
      await scene.backend.jobs?.enqueue({ queue: 'q', jobs })
      const { receipt } = await scene.receiveOne('q')
      await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'broken' })
      const { failedAttempts } = only((await metricsOf(scene).snapshot({ limit: 10 })).items)
      assert.equal(failedAttempts, 1)
    })

    suite.test('receives that found nothing are counted', async (scene) => {
      await scene.queue('q')
      await scene.receive('q')
      const parked = scene.receive('q', { waitMs: 5 * second })
      await scene.advance(6 * second)
      assert.deepEqual(await parked, [])
      await scene.send('q', 'a')
      await scene.receiveOne('q')
      await nextMinute(scene)
      assert.equal(only(await minutesOf(scene, 'q')).emptyReceives, 2)
      await nextMinute(scene)
      assert.equal((await minutesOf(scene, 'q')).at(-1)?.emptyReceives, 0)
    })

    suite.test('those of a minute that another process wrote come with the next', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a')
      await nextMinute(scene)
      await scene.receiveOne('q')
      await scene.receive('q')
      await metricsOf(scene).sample()
      const { emptyReceives } = only((await metricsOf(scene).snapshot({ limit: 10 })).items)
      assert.equal(emptyReceives, 1)
      await nextMinute(scene)
      assert.deepEqual(
        (await minutesOf(scene, 'q')).map((one) => one.emptyReceives),
        [0, 1],
      )
    })
  })

  suite.describe('the age of the oldest message', () => {
    suite.needing('exactFigures').test('counts messages in flight', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a')
      await scene.receiveOne('q', { visibilityMs: hour })
      await nextMinute(scene)
      const { oldestAgeMs, oldestReadyAgeMs } = only(await minutesOf(scene, 'q'))
      assert.deepEqual([oldestAgeMs, oldestReadyAgeMs], [minute, null])
    })

    suite
      .needing('exactFigures')
      .test('leaves out what was received three times', async (scene) => {
        await scene.queue('q')
        await scene.send('q', 'poison')
        await scene.advance(10 * second)
        await scene.send('q', 'other')
        const ages: (number | null | undefined)[] = []
        for (let count = 0; count < 3; count += 1) {
          const { receipt } = await scene.receiveOne('q')
          await scene.settle('q', receipt, { kind: 'retry', delayMs: 0 })
          const { items } = await metricsOf(scene).snapshot({ limit: 1 })
          ages.push(only(items).oldestAgeMs)
        }
        assert.deepEqual(ages, [10 * second, 10 * second, 0])
      })

    suite.test('of a dead letter begins when it was moved', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 3)
      await scene.send('q', 'a')
      await scene.advance(30 * second)
      const { receipt } = await scene.receiveOne('q')
      await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'broken' })
      await scene.advance(5 * second)
      const { items } = await metricsOf(scene).snapshot({ limit: 10 })
      assert.equal(items.find(({ queue }) => queue === dead)?.oldestAgeMs, 5 * second)
    })
  })
}

function describeReports(suite: ContractSuite): void {
  suite.describe('figures that processes report', () => {
    suite.test('what handlers come to is part of the minute', async (scene) => {
      await scene.queue('q')
      await metricsOf(scene).report({
        queues: [{ queue: 'q', handlers: ran({ completed: [100, 300] }) }],
      })
      await metricsOf(scene).report({ queues: [{ queue: 'q', handlers: ran({ retried: [20] }) }] })
      await nextMinute(scene)
      await metricsOf(scene).report({
        queues: [{ queue: 'q', handlers: ran({ completed: [50] }) }],
      })
      await nextMinute(scene)
      const [first, second] = await minutesOf(scene, 'q')
      assert.deepEqual(first?.handlers, ran({ completed: [100, 300], retried: [20] }))
      assert.deepEqual(second?.handlers, ran({ completed: [50] }))
      const { handlers } = only((await metricsOf(scene).snapshot({ limit: 10 })).items)
      const { ended, failed, runs } = handlers ?? {}
      assert.deepEqual([ended, failed, runs?.count, runs?.msSum], [4, 1, 4, 470])
    })

    suite.test('a queue that is gone is passed over', async (scene) => {
      await scene.queue('q')
      const handlers = ran({ completed: [1] })
      const queues = [
        { queue: 'gone', handlers, emptyReceives: 1 },
        { queue: 'q', emptyReceives: 2 },
      ]
      await metricsOf(scene).report({ queues })
      assert.equal(only((await metricsOf(scene).snapshot({ limit: 10 })).items).emptyReceives, 2)
    })

    suite.test('values have a sum, a count and extremes by the minute', async (scene) => {
      const put = (...values: number[]): Promise<void> =>
        metricsOf(scene).report({
          queues: [],
          values: values.map((value) => ({ name: 'cost', value })),
        })
      await put(2, -1.5, 4)
      await scene.advance(minute)
      await put(7)
      await scene.advance(2 * minute)
      await put(0)
      const values = await valuesOf(scene, 'cost')
      assert.deepEqual(
        values.map(({ minute: _, ...figures }) => figures),
        [
          { count: 3, sum: 4.5, min: -1.5, max: 4 },
          { count: 1, sum: 7, min: 7, max: 7 },
          { count: 1, sum: 0, min: 0, max: 0 },
        ],
      )
      const [first, second, third] = values.map((value) => value.minute)
      assert.ok(first !== undefined && second !== undefined && third !== undefined)
      assert.deepEqual([second - first, third - second], [minute, 2 * minute])
      assert.deepEqual(await valuesOf(scene, 'other'), [])
    })

    suite.test('the latest value of each name is known, and what all come to', async (scene) => {
      const put = (name: string, ...values: number[]): Promise<void> =>
        metricsOf(scene).report({ queues: [], values: values.map((value) => ({ name, value })) })
      assert.deepEqual((await metricsOf(scene).latest({ limit: 10 })).items, [])
      await put('cost', 2, -1.5, 4)
      await put('age', 9)
      await scene.advance(hour)
      await put('cost', 0.5)
      const { items, next } = await metricsOf(scene).latest({ limit: 1 })
      const [age] = items
      assert.ok(age && next)
      assert.deepEqual(age, { name: 'age', value: 9, at: age.at, count: 1, sum: 9 })
      const rest = await metricsOf(scene).latest({ limit: 1, after: next })
      assert.deepEqual(rest, {
        items: [{ name: 'cost', value: 0.5, at: age.at + hour, count: 4, sum: 5 }],
      })
      await scene.advance(3 * day - hour + minute)
      while ((await metricsOf(scene).sample()).more);
      assert.equal(only((await metricsOf(scene).latest({ limit: 10 })).items).name, 'cost')
      await rejects(metricsOf(scene).latest({ limit: 0 }), 'invalid_argument')
    })

    suite.test('a store keeps a thousand names, and frees them after three days', async (scene) => {
      const names = Array.from({ length: 1_000 }, (_, index) => ({ name: `n${index}`, value: 1 }))
      await metricsOf(scene).report({ queues: [], values: names })
      const more = { queues: [], values: [{ name: 'one more', value: 1 }] }
      await rejects(metricsOf(scene).report(more), 'invalid_argument')
      await metricsOf(scene).report({ queues: [], values: [{ name: 'n7', value: 1 }] })
      await scene.advance(3 * day + minute)
      while ((await metricsOf(scene).sample()).more);
      assert.deepEqual(await valuesOf(scene, 'n7'), [])
      await metricsOf(scene).report(more)
      assert.equal((await valuesOf(scene, 'one more')).length, 1)
    })

    suite.test('what makes no sense is refused', async (scene) => {
      await scene.queue('q')
      const bad = [
        { queues: [], values: [{ name: '', value: 1 }] },
        { queues: [], values: [{ name: 'x', value: Number.NaN }] },
        { queues: [], values: [{ name: 'x', value: Number.POSITIVE_INFINITY }] },
        { queues: [{ queue: 'q', emptyReceives: -1 }] },
        { queues: [{ queue: 'q', emptyReceives: 0.5 }] },
      ]
      for (const request of bad) await rejects(metricsOf(scene).report(request), 'invalid_argument')
    })
  })
}

function describeSnapshot(suite: ContractSuite): void {
  suite.describe('a snapshot', () => {
    suite.test('has all queues by name, in pages', async (scene) => {
      for (const name of ['c', 'a', 'b']) await scene.queue(name)
      await scene.send('b', 'x')
      const first = await metricsOf(scene).snapshot({ limit: 2 })
      assert.deepEqual(
        first.items.map(({ queue, sent, ready }) => [queue, sent, ready]),
        [
          ['a', 0, 0],
          ['b', 1, 1],
        ],
      )
      assert.ok(first.next !== undefined)
      const rest = await metricsOf(scene).snapshot({ limit: 2, after: first.next })
      assert.equal(only(rest.items).queue, 'c')
      assert.equal(rest.next, undefined)
    })

    suite.test('counts what a move task took away', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      await scene.send('q', 'a')
      const { receipt } = await scene.receiveOne('q')
      await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'broken' })
      await scene.backend.startMoveTask({ source: dead })
      await scene.sweep()
      const { items } = await metricsOf(scene).snapshot({ limit: 10 })
      const moved = Object.fromEntries(items.map(({ queue, redriven }) => [queue, redriven]))
      assert.deepEqual(moved, { q: 0, [dead]: 1 })
    })
  })
}

/** Attempts that took so long, by their end. */
function ran(endings: {
  readonly completed?: number[]
  readonly retried?: number[]
}): HandlerFigures {
  const { completed = [], retried = [] } = endings
  const all = [...completed, ...retried]
  const buckets = Array.from(
    { length: durationBuckets },
    (_, index) => all.filter((ms) => durationBucket(ms) === index).length,
  )
  const msSum = all.reduce((sum, ms) => sum + ms, 0)
  const runs = { count: all.length, msSum, msMax: Math.max(...all), buckets }
  return handlerFigures({ completed: completed.length, retried: retried.length }, runs)
}
