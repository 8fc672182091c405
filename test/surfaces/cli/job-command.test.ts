/** `millrace job`, as an operator uses it on a store. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, type Mill, open } from '../../../src/index.ts'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const Charge = z.object({ id: z.number(), card: z.string() })
const bank = defineApp('bank', {
  queues: {
    basic: jobs({ types: { CHARGE: { schema: Charge, secret: ['card'] } }, attempts: 1 }),
  },
})
const basic = 'bank-dev-basic'
const payload = { id: 7, card: '4111-1111' }

interface Jobs extends CliScene {
  readonly mill: Mill<typeof bank>
  readonly failed: string
  readonly completed: string
}

/** A store with a job that failed and one that is completed; both have logged. */
async function withJobs(): Promise<Jobs> {
  const scene = await cliScene()
  const mill = await open(bank, { data: scene.data, log: false })
  onTestFinished(() => mill.close())
  const { id: failed } = await mill.jobs.enqueue('basic', 'CHARGE', payload, { owner: 'ann' })
  const { id: completed } = await mill.jobs.enqueue('basic', 'CHARGE', { ...payload, id: 8 })
  const worker = mill.worker({
    poll: ['basic'],
    handle: {
      CHARGE: ({ id, card }, { log }) => {
        log.info({ id }, `charging\u001b[31m ${card}`)
        if (id === 8) return { paid: true }
        throw new TypeError(`cannot charge ${card}`, { cause: new Error('the bank is closed') })
      },
    },
  })
  await worker.drain()
  return { ...scene, mill, failed, completed }
}

describe('jobs', () => {
  test('are listed, newest first, by status, type and owner, in pages', async () => {
    const { read, good, run, failed, completed } = await withJobs()
    const idsOf = async (...args: readonly string[]) =>
      (await read('job', 'list', basic, ...args)).jobs.map(({ id }: { id: string }) => id)
    assert.deepEqual(await idsOf(), [completed, failed])
    assert.deepEqual(await idsOf('--status', 'failed'), [failed])
    assert.deepEqual(await idsOf('--owner', 'ann'), [failed])
    assert.deepEqual(await idsOf('--type', 'OTHER'), [])
    const page = await read('job', 'list', basic, '--limit', '1')
    assert.deepEqual(await idsOf('--after', page.next), [failed])
    const [heading = '', row = ''] = (await good('job', 'list', basic)).split('\n').slice(0, 3)
    assert.match(heading, /^ID +TYPE +STATUS +ATTEMPTS +OWNER +CREATED AT +ERROR$/)
    assert.match(row, /^[\w-]{36} +CHARGE +completed +1 of 1 +\S+Z$/)
    assert.equal((await run('job', 'list', basic, '--type', 'OTHER')).stderr, 'No jobs found.\n')
  })

  test('are shown with attempts, errors, stacks and log lines', async () => {
    const { read, good, failed } = await withJobs()
    const view = await read('job', 'show', failed)
    assert.deepEqual(
      [view.id, view.job_type, view.status, view.queue_name, view.owner],
      [failed, 'CHARGE', 'failed', basic, 'ann'],
    )
    assert.equal(view.error_message, 'TypeError: cannot charge [hidden]')
    assert.deepEqual(view.payload, { id: 7, card: '[hidden]' })
    const [{ outcome, failure }] = view.attempts
    assert.deepEqual(
      [outcome, failure.name, failure.causes[0].message],
      ['failed', 'TypeError', 'the bank is closed'],
    )
    assert.match(failure.stack, /job-command\.test\.ts/)
    assert.deepEqual(
      view.logs.map(({ attempt, level, fields }: Record<string, unknown>) => [
        attempt,
        level,
        fields,
      ]),
      [[1, 'info', { id: 7 }]],
    )
    const sheet = await good('job', 'show', failed)
    assert.match(sheet, new RegExp(`^CHARGE ${failed}\nstatus +failed\nqueue +${basic}\n`))
    assert.match(sheet, /\npayload +\{"id":7,"card":"\[hidden\]"\}\n/)
    assert.match(
      sheet,
      /\n\nattempt 1 {2}failed {2}\S+Z to \S+Z\n {2}TypeError: cannot charge \[hidden\]\n {6}at /,
    )
    assert.match(sheet, /\n {2}caused by Error: the bank is closed\n/)
    assert.match(
      sheet,
      /\n\nlog\n\S+Z {2}attempt 1 {2}info {3}charging \[31m \[hidden\] {2}\{"id":7\}\n$/,
    )
  })

  test('are shown with the stacks that programs in other languages report', async () => {
    const { mill, read, good } = await withJobs()
    const { id } = await mill.jobs.enqueue('basic', 'CHARGE', payload)
    const { messages } = await read('message', 'receive', basic)
    const stack = 'Traceback (most recent call last):\n  File "/app/worker.py", line 3, in charge\n'
    const error = { name: 'ValueError', message: 'no bank', stack: `${stack}ValueError: no bank` }
    await mill.reports.fail(id, { receipt: messages[0].receipt, error })
    const sheet = await good('job', 'show', id)
    assert.match(
      sheet,
      /\n {2}ValueError: no bank\n {6}Traceback \(most.*\n {8}File "\/app\/worker\.py", line 3/,
    )
  })

  test('show what is secret only to those who ask for it', async () => {
    const { read, good, failed } = await withJobs()
    assert.doesNotMatch(await good('job', 'show', failed), /4111/)
    assert.deepEqual((await read('job', 'show', failed, '--reveal')).payload, payload)
  })

  test('keep their payload hidden when the queue is gone', async () => {
    const { read, run, failed } = await withJobs()
    assert.equal((await run('queue', 'delete', basic, '--yes')).code, 0)
    assert.equal((await read('job', 'show', failed)).payload, '[hidden]')
  })

  test('have logs of their own', async () => {
    const { read, good, run, mill, completed } = await withJobs()
    const { logs } = await read('job', 'logs', completed)
    assert.deepEqual(Object.keys(logs[0]), ['attempt', 'at', 'level', 'message', 'fields'])
    assert.match(await good('job', 'logs', completed), /^\S+Z {2}attempt 1 {2}info {3}charging /)
    const { id } = await mill.jobs.enqueue('basic', 'CHARGE', payload)
    assert.equal((await run('job', 'logs', id)).stderr, 'The job has no log lines.\n')
  })

  test('that do not exist, and queues that do not, are refused', async () => {
    const { run } = await withJobs()
    for (const verb of ['show', 'logs']) {
      assertRefused(await run('job', verb, 'no-such-job'), 3, /^error: The job does not exist/)
    }
    assertRefused(await run('job', 'list', 'bank-dev-basik'), 3, /did you mean 'bank-dev-basic'/i)
    assertRefused(await run('job', 'list', basic, '--status', 'lost'), 2, /Use one of pending/)
  })
})
