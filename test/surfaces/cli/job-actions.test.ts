/** `millrace job cancel`, `retry`, `reschedule` and `promote`, as an operator uses them on a store. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, type Mill, open } from '../../../src/index.ts'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const bank = defineApp('bank', {
  queues: { basic: jobs({ types: { CHARGE: z.object({ id: z.number() }) }, attempts: 2 }) },
})

interface Bank extends CliScene {
  readonly mill: Mill<typeof bank>
  /** A job that waits for a day. */
  readonly waiting: string
  /** Runs what is due. */
  work(): Promise<void>
}

async function bankScene(): Promise<Bank> {
  const scene = await cliScene()
  const mill = await open(bank, { data: scene.data, log: false })
  onTestFinished(() => mill.close())
  const { id: waiting } = await mill.jobs.enqueue('basic', 'CHARGE', { id: 7 }, { delay: '1d' })
  const work = async (): Promise<void> => {
    await mill.worker({ poll: ['basic'], handle: { CHARGE: () => null } }).drain()
  }
  return { ...scene, mill, waiting, work }
}

describe('cancelling a job', () => {
  test('ends it, once it is confirmed', async () => {
    const { run, good, read, mill, waiting } = await bankScene()
    const asked = await run('job', 'cancel', waiting)
    assertRefused(asked, 4, /This will cancel the CHARGE job .*add --yes/)
    assert.equal((await mill.jobs.get(waiting))?.status, 'pending')
    const { status, finished_at } = await read('job', 'cancel', waiting, '--yes')
    assert.equal(status, 'cancelled')
    assert.match(finished_at, /Z$/)
    assert.equal((await mill.jobs.get(waiting))?.status, 'cancelled')
    assert.match(await good('job', 'cancel', waiting), /was already cancelled at \S+Z\.\n$/)
  })

  test('is refused for a job that has ended in another way', async () => {
    const { run, mill, waiting, work } = await bankScene()
    await mill.jobs.promote(waiting)
    await work()
    assertRefused(await run('job', 'cancel', waiting, '--yes'), 1, /The job has finished/)
    // There is nothing to confirm.
    assertRefused(await run('job', 'cancel', waiting), 1, /The job has finished/)
  })

  test('says so', async () => {
    const { good, waiting } = await bankScene()
    const line = await good('job', 'cancel', waiting, '--yes')
    assert.equal(line, `Cancelled ${waiting} after 0 of 2 attempts.\n`)
  })
})

describe('retrying a job', () => {
  test('enqueues it again as a new job, whose id is printed', async () => {
    const { good, read, mill, waiting } = await bankScene()
    await mill.jobs.cancel(waiting)
    const id = (await good('job', 'retry', waiting)).trim()
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.retryOf, job?.payload, job?.runAt], [waiting, { id: 7 }, null])
    const { id: second, ...others } = await read('job', 'retry', waiting)
    assert.notEqual(second, id)
    assert.deepEqual(others, { status: 'created', retry_of: waiting })
  })

  test('is refused for a job that has not failed', async () => {
    const { run, waiting } = await bankScene()
    const end = await run('job', 'retry', waiting)
    assertRefused(end, 1, /Only a failed or cancelled job can be retried/)
  })
})

describe('moving a job to another time', () => {
  test('takes a delay or a time', async () => {
    const { good, read, mill, waiting } = await bankScene()
    const at = '2030-01-31T12:00:00.000Z'
    const line = await good('job', 'reschedule', waiting, '--run-at', '2030-01-31T12:00:00Z')
    assert.equal(line, `${waiting} is due at ${at}.\n`)
    assert.equal((await mill.jobs.get(waiting))?.runAt, Date.parse(at))
    const { run_at } = await read('job', 'reschedule', waiting, '--delay', '2h')
    const inMs = Date.parse(run_at) - Date.now()
    assert.ok(inMs > 7_000_000 && inMs <= 7_200_000, run_at)
  })

  test.each([
    ['neither', [], /Pass --delay or --run-at/],
    ['both', ['--delay', '1h', '--run-at', '2030-01-01T00:00:00Z'], /Pass --delay or --run-at/],
    ['no time', ['--run-at', 'tomorrow'], /Use a time such as/],
    ['no duration', ['--delay', 'soon'], /Use a duration such as/],
    [
      'the past',
      ['--run-at', '2020-01-01T00:00:00Z'],
      /--run-at: got 2020-01-01T.*expected a time from/,
    ],
  ])('is refused with %s', async (_name, flags, reason) => {
    const { run, waiting } = await bankScene()
    assertRefused(await run('job', 'reschedule', waiting, ...flags), 2, reason)
  })

  test('may be now', async () => {
    const { good, read, mill, waiting, work } = await bankScene()
    assert.equal(await good('job', 'promote', waiting), `${waiting} is due now.\n`)
    const { status, run_at } = await read('job', 'promote', waiting)
    assert.deepEqual([status, run_at], ['pending', null])
    await work()
    assert.equal((await mill.jobs.get(waiting))?.status, 'completed')
  })

  test('is refused for a job that has ended', async () => {
    const { run, mill, waiting } = await bankScene()
    await mill.jobs.cancel(waiting)
    for (const args of [['promote'], ['reschedule', '--delay', '1h']]) {
      const [verb = '', ...flags] = args
      assertRefused(await run('job', verb, waiting, ...flags), 1, /The job has finished/)
    }
  })
})

test.each(['cancel', 'retry', 'promote', 'reschedule'])(
  '%s of a job that does not exist exits with 3',
  async (verb) => {
    const { run } = await bankScene()
    const flags = verb === 'reschedule' ? ['--delay', '1h'] : []
    assertRefused(await run('job', verb, 'no-such-job', ...flags), 3, /The job does not exist/)
  },
)
