import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { JobAttempt } from '../../src/backend.ts'
import { defineApp, type Job, jobs, open } from '../../src/index.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { perCustomer, rate, reserved, type TaskQueue, type WorkerArgument } from './workshop.ts'
import { inWorkshop, type TaskRun, type WorkshopScene } from './workshop-scene.ts'

const rateWindowMs = 1_000
/** So much longer than another may a handler take to start after its claim, by the store's rule. */
const rateSlackMs = 50
const concurrency = 10

describe('four worker processes, of which some are killed', () => {
  test('together keep a rate and a reserved concurrency, and waiting costs no attempt', () =>
    inWorkshop('ceilings', async (scene) => {
      const rated = await scene.enqueue(
        'rated',
        Array.from({ length: 300 }, () => ({ takesMs: 30 })),
      )
      const slow = Array.from({ length: 150 }, (_, index) => ({ takesMs: 100 + (index % 4) * 20 }))
      const held = await scene.enqueue('reserved', slow)
      const ids = [...rated, ...held]
      const { kills, finished } = await workWithKills(scene, ids, ['rated', 'reserved'])

      const runsOf = (queue: string): readonly TaskRun[] =>
        scene.runs.filter((run) => run.queue === queue)
      assert.equal(mostAtOnce(runsOf('reserved')), reserved)
      const claims = [...finished.values()].flatMap(({ job, attempts }) =>
        job.queue === scene.mill.queues.rated.name
          ? attempts.map(({ startedAt }) => startedAt)
          : [],
      )
      assert.ok(claims.length >= rated.length)
      assert.ok(mostWithin(claims, rateWindowMs) <= rate.max)
      assertRateOfStarts(runsOf('rated'), finished)
      assertAttempts([...finished.values()], kills)
    }))

  test('together keep a limit for each value of a key', () =>
    inWorkshop('key-limits', async (scene) => {
      const customers = ['a', 'b', 'c'] as const
      const tasks = Array.from({ length: 90 }, (_, index) => ({
        takesMs: 60 + (index % 4) * 20,
        // Most of them are of one customer.
        customer: customers[index % 6] ?? 'a',
      }))
      const ids = await scene.enqueue('keyed', tasks)
      const { kills, finished } = await workWithKills(scene, ids, ['keyed'])
      for (const customer of customers) {
        const own = new Set(ids.filter((_, index) => tasks[index]?.customer === customer))
        assert.equal(mostAtOnce(scene.runs.filter(({ id }) => own.has(id))), perCustomer)
      }
      assert.ok(mostAtOnce(scene.runs) > perCustomer)
      assertAttempts([...finished.values()], kills)
    }))
})

describe('a slow rate', () => {
  test('makes two workers wait, at no cost of an attempt', () =>
    inTemporaryFolder('slow-rate', async (folder) => {
      const rate = { max: 10, per: '300ms' } as const
      const app = defineApp('slow', {
        queues: { ticks: jobs({ types: { TICK: z.number() }, rate }) },
      })
      await using mill = await open(app, { data: folder.path })
      const ticks = Array.from({ length: 100 }, (_, payload) => ({
        type: 'TICK' as const,
        payload,
      }))
      const enqueued = await mill.jobs.enqueueMany('ticks', ticks)
      const options = { poll: ['ticks'], handle: { TICK: () => undefined } } as const
      for (const worker of [mill.worker(options), mill.worker(options)]) worker.start()
      const claims: number[] = []
      for (const { id } of enqueued) {
        const { status, attemptsMade, startedAt } = await mill.jobs.waitFor(id)
        assert.deepEqual([status, attemptsMade], ['completed', 1])
        claims.push(startedAt ?? 0)
      }
      assert.ok(mostWithin(claims, 300) <= rate.max)
    }))
})

interface Finished {
  readonly job: Job
  readonly attempts: readonly JobAttempt[]
}

interface Worked {
  /** Wall times. */
  readonly kills: readonly number[]
  /** By id. */
  readonly finished: ReadonlyMap<string, Finished>
}

/** Four workers until all tasks have finished; twice the one that began a task of the last queue is killed. */
async function workWithKills(
  scene: WorkshopScene,
  ids: readonly string[],
  poll: readonly TaskQueue[],
): Promise<Worked> {
  const argument: Omit<WorkerArgument, 'store'> = { poll, concurrency }
  for (let count = 0; count < 4; count += 1) scene.start(argument)
  const kills: number[] = []
  for (const part of [0.2, 0.5]) {
    const newest = (): TaskRun | undefined => scene.runs.at(-1)
    await scene.until(() => {
      const isHeld = newest()?.queue === poll.at(-1) && newest()?.endedMs === undefined
      return isHeld && scene.runs.length > ids.length * part
    })
    await newest()?.worker.kill()
    kills.push(Date.now())
    scene.start(argument)
  }
  const finished = new Map<string, Finished>()
  for (const id of ids) {
    const job = await scene.mill.jobs.waitFor(id)
    finished.set(id, { job, attempts: await scene.mill.jobs.attempts(id) })
  }
  await scene.stopAll()
  return { kills, finished }
}

/** Each attempt but the last was lost to a kill; nothing else has cost one. */
function assertAttempts(finished: readonly Finished[], kills: readonly number[]): void {
  let lost = 0
  for (const { job, attempts } of finished) {
    assert.equal(job.status, 'completed')
    assert.equal(job.attemptsMade, attempts.length)
    for (const { outcome, startedAt, endedAt } of attempts.slice(0, -1)) {
      assert.equal(outcome, 'lapsed')
      assert.ok(kills.some((at) => startedAt <= at && endedAt !== null && at <= endedAt))
      lost += 1
    }
  }
  assert.ok(lost > 0, 'no kill has hit a task')
  assert.ok(lost <= kills.length * concurrency, `${lost} attempts were lost`)
}

/**
 * The rate is kept when tasks are claimed, and the store allows for handlers of which some start a
 * little later after their claim than others. A window in which the machine has held some up for
 * longer says nothing.
 */
function assertRateOfStarts(
  runs: readonly TaskRun[],
  finished: ReadonlyMap<string, Finished>,
): void {
  const starts = runs.map(({ id, attempt, startedMs, wallMs }) => {
    const claim = finished.get(id)?.attempts.find((one) => one.attempt === attempt)
    assert.ok(claim !== undefined)
    return { startedMs, heldUpMs: wallMs - claim.startedAt }
  })
  starts.sort((one, other) => one.startedMs - other.startedMs)
  for (let at = 0; at + rate.max < starts.length; at += 1) {
    const window = starts.slice(at, at + rate.max + 1)
    const heldUp = window.map(({ heldUpMs }) => heldUpMs)
    if (Math.max(...heldUp) - Math.min(...heldUp) >= rateSlackMs - 1) continue
    const spanMs = (window.at(-1)?.startedMs ?? 0) - (window[0]?.startedMs ?? 0)
    assert.ok(spanMs >= rateWindowMs, `${window.length} starts within ${spanMs} ms`)
  }
}

/** How many of these times lie in one window of the given length, at most. */
function mostWithin(times: readonly number[], windowMs: number): number {
  const ordered = times.toSorted((one, other) => one - other)
  let most = 0
  let first = 0
  for (const [index, time] of ordered.entries()) {
    while (time - (ordered[first] ?? time) >= windowMs) first += 1
    most = Math.max(most, index - first + 1)
  }
  return most
}

function mostAtOnce(runs: readonly TaskRun[]): number {
  const changes = runs.flatMap(({ startedMs, endedMs }) => {
    assert.ok(endedMs !== undefined)
    return [
      { atMs: startedMs, change: 1 },
      { atMs: endedMs, change: -1 },
    ]
  })
  let running = 0
  let most = 0
  for (const { change } of changes.toSorted((one, other) => one.atMs - other.atMs)) {
    running += change
    most = Math.max(most, running)
  }
  return most
}
