/** `millrace schedule`, as an operator uses it. */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, open, queue, schedule } from '../../../src/index.ts'
import { type CliScene, cliScene } from './cli-scene.ts'

const library = fileURLToPath(new URL('../../../src/index.ts', import.meta.url))

const reports = defineApp('reports', {
  queues: {
    reports: queue(),
    mail: jobs({ types: { DIGEST: z.object({ user: z.number() }) } }),
  },
  schedules: {
    nightly: schedule({ cron: '0 2 * * *', timezone: 'Europe/Berlin', send: { queue: 'reports' } }),
    yearly: schedule({ every: '365d', send: { queue: 'reports' }, payload: { year: true } }),
  },
})

/** The same app as a file, as the command loads it. */
const appFile = `
import { z } from 'zod'
import { defineApp, jobs, queue, schedule } from ${JSON.stringify(library)}
export default defineApp('reports', {
  queues: {
    reports: queue(),
    mail: jobs({ types: { DIGEST: z.object({ user: z.number() }) } }),
  },
  schedules: {
    nightly: schedule({ cron: '0 2 * * *', timezone: 'Europe/Berlin', send: { queue: 'reports' } }),
    yearly: schedule({ every: '365d', send: { queue: 'reports' }, payload: { year: true } }),
  },
})
`

async function sceneWithStore(): Promise<CliScene> {
  const scene = await cliScene()
  await (await open(reports, { data: scene.data })).close()
  return scene
}

describe('millrace schedule list', () => {
  test('shows what ticks when', async () => {
    const { good, read } = await sceneWithStore()
    const text = await good('schedule', 'list')
    const [head, first, second] = text.split('\n')
    assert.match(head ?? '', /^NAME +RULE +KIND +NEXT AT +TICKS +SKIPPED +FAILED$/)
    assert.match(
      first ?? '',
      /^reports-dev-nightly +cron 0 2 \* \* \* in Europe\/Berlin +declared +20/,
    )
    assert.match(second ?? '', /^reports-dev-yearly +every 365d +declared +20/)
    const { schedules } = await read('schedule', 'list')
    assert.deepEqual(
      { ...schedules[1], next_at: null },
      {
        ...{ name: 'reports-dev-yearly', scope: 'reports/dev', rule: 'every 365d', next_at: null },
        ...{ declared: true, queue: null, type: null },
        ...{ last_at: null, ticks: 0, skipped: 0, failed: 0, last_error: null },
        ...{ paused_at: null, paused_by: null, resumed_at: null, resumed_by: null },
        ...{ ran_at: null, ran_by: null },
      },
    )
  })

  test('says so when there is nothing, and where there is no store', async () => {
    const { data, run } = await cliScene()
    assert.equal((await run('schedule', 'list')).code, 6)
    await (await open(defineApp('plain', { queues: { q: queue() } }), { data })).close()
    const { code, stdout, stderr } = await run('schedule', 'list')
    assert.deepEqual([code, stdout, stderr], [0, '', 'No schedules found.\n'])
  })
})

describe('millrace schedule next', () => {
  test('tells the next ticks, by the rule that lies in the store', async () => {
    const { good, read, run } = await sceneWithStore()
    const lines = (await good('schedule', 'next', 'reports-dev-nightly', '--count', '3'))
      .trimEnd()
      .split('\n')
    assert.equal(lines.length, 3)
    for (const line of lines) assert.match(line, /T0[01]:00:00\.000Z$/)
    const { next, paused } = await read('schedule', 'next', 'reports-dev-nightly')
    assert.deepEqual([next, paused], [lines.slice(0, 1), false])
    const missing = await run('schedule', 'next', 'reports-dev-hourly')
    const named = "The schedule 'reports-dev-hourly' does not exist"
    assert.deepEqual([missing.code, missing.stderr.includes(named)], [3, true])
    const mistyped = await run('schedule', 'next', 'reports-dev-nightl')
    assert.match(mistyped.stderr, /'reports-dev-nightl'.*did you mean 'reports-dev-nightly'\?/)
    assert.equal((await run('schedule', 'next', 'reports-dev-nightly', '--count', '0')).code, 2)
  })
})

describe('millrace schedule pause and resume', () => {
  test('hold for every process, and are signed', async () => {
    const { data, good, read, run } = await sceneWithStore()
    const paused = await read('schedule', 'pause', 'reports-dev-nightly', '--by', 'anna')
    assert.deepEqual([paused.paused_by, paused.next_at], ['anna', null])
    assert.match(await good('schedule', 'list'), /anna/)
    const asked = await run('schedule', 'next', 'reports-dev-nightly')
    assert.deepEqual([asked.code, asked.stdout], [0, ''])
    await using mill = await open(reports, { data })
    assert.equal((await mill.schedules.nightly.read()).pausedBy, 'anna')
    const line = await good('schedule', 'resume', 'reports-dev-nightly', '--by', 'ben')
    assert.match(line, /^reports-dev-nightly ticks next at 20.*Z\.\n$/)
    const { pausedAt, resumedBy, nextAt } = await mill.schedules.nightly.read()
    assert.deepEqual([pausedAt, resumedBy], [null, 'ben'])
    assert.ok(nextAt !== null)
  })

  test('say so when somebody has paused it before', async () => {
    const { good, read } = await sceneWithStore()
    const name = 'reports-dev-nightly'
    assert.equal(await good('schedule', 'pause', name, '--by', 'anna'), `Paused ${name}.\n`)
    const again = await good('schedule', 'pause', name, '--by', 'ben')
    const { paused_at, paused_by } = await read('schedule', 'pause', name, '--by', 'ben')
    assert.equal(again, `${name} is already paused, by anna since ${paused_at}.\n`)
    assert.equal(paused_by, 'anna')
  })

  test('know schedules that do not exist', async () => {
    const { run } = await sceneWithStore()
    for (const verb of ['pause', 'resume']) {
      const message = "error: The schedule 'none' does not exist.\n"
      const { code, stderr } = await run('schedule', verb, 'none')
      assert.deepEqual([code, stderr], [3, message])
    }
  })
})

describe('millrace schedule run', () => {
  test('sends what the app says, once more', async () => {
    const { data, write, good, read } = await sceneWithStore()
    const app = await write('app.ts', appFile)
    const id = (await good('schedule', 'run', 'yearly', '--app', app, '--by', 'anna')).trim()
    const again = await read('schedule', 'run', 'yearly', '--app', app)
    assert.equal(again.name, 'reports-dev-yearly')
    const named = await read('schedule', 'run', 'reports-dev-yearly', '--app', app)
    assert.equal(named.name, 'reports-dev-yearly')
    await using mill = await open(reports, { data })
    const { items } = await mill.queues.reports.peek()
    assert.deepEqual(
      items.map((item) => [item.id, item.body]),
      [
        [id, '{"year":true}'],
        [again.id, '{"year":true}'],
        [named.id, '{"year":true}'],
      ],
    )
    assert.equal((await mill.schedules.yearly.read()).ticks, 0)
  })

  test('needs the app, a schedule that it has, and one that is in the store', async () => {
    const { write, run } = await sceneWithStore()
    const app = await write('app.ts', appFile)
    const without = await run('schedule', 'run', 'yearly')
    assert.equal(without.code, 2)
    assert.match(without.stderr, /Name its file with --app/)
    const unknown = await run('schedule', 'run', 'hourly', '--app', app)
    assert.equal(unknown.code, 3)
    assert.match(unknown.stderr, /schedule 'reports-dev-hourly' does not exist/)
    const elsewhere = await run('schedule', 'run', 'yearly', '--app', app, '--stage', 'prod')
    assert.equal(elsewhere.code, 3)
    assert.match(elsewhere.stderr, /schedule 'reports-prod-yearly' does not exist/)
  })
})

describe('millrace schedule set, show and remove', () => {
  const digest = ['--cron', '0 8 * * *', '--timezone', 'Europe/Berlin', '--queue', 'mail']
  const job = [...digest, '--type', 'DIGEST', '--owner', 'anna', '--payload', '{"user":7}']

  test('create, change, show and remove a schedule', async () => {
    const { write, good, read, run } = await sceneWithStore()
    const app = await write('app.ts', appFile)
    const set = (...options: readonly string[]): readonly string[] => {
      return ['schedule', 'set', 'digest/7', ...job, ...options, '--app', app]
    }
    const stored = 'reports-dev-digest/7'
    assert.equal(await good(...set()), `${stored}: created\n`)
    assert.deepEqual(await read(...set()), { name: stored, status: 'unchanged' })
    assert.equal(await good(...set('--missed', 'skip')), `${stored}: changed\n`)
    const shown = await read('schedule', 'show', stored)
    assert.deepEqual(
      [shown.declared, shown.queue, shown.type, shown.rule],
      [false, 'mail', 'DIGEST', 'cron 0 8 * * * in Europe/Berlin'],
    )
    assert.match(await good('schedule', 'show', stored), /kind +set at run time\nqueue +mail\n/)
    assert.match(await good('schedule', 'list', '--prefix', stored), /digest\/7 +cron .* set +20/)
    assert.doesNotMatch(await good('schedule', 'show', stored), /user/)
    const id = (await good('schedule', 'run', 'digest/7', '--app', app)).trim()
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.equal((await read('schedule', 'run', stored, '--app', app)).name, stored)
    assert.equal((await read('schedule', 'pause', stored, '--by', 'anna')).paused_by, 'anna')
    assert.equal(await good('schedule', 'remove', stored), `Removed ${stored}.\n`)
    const again = await run('schedule', 'remove', stored)
    assert.deepEqual([again.code, again.stdout], [3, ''])
    const declared = await run('schedule', 'remove', 'reports-dev-nightly')
    assert.equal(declared.code, 2)
    assert.match(declared.stderr, /change its declaration/)
  })

  test('refuse what does not fit, and need the app', async () => {
    const { write, run } = await sceneWithStore()
    const app = await write('app.ts', appFile)
    const refused = async (...options: readonly string[]): Promise<readonly [number, string]> => {
      const { code, stderr } = await run('schedule', 'set', 'digest/7', ...options)
      return [code ?? -1, stderr]
    }
    assert.equal((await refused(...job))[0], 2)
    const [code, text] = await refused(...digest, '--type', 'DIGEST', '--app', app)
    assert.equal(code, 2)
    assert.match(text, /payload\.user: got nothing, expected number/)
    const [, mixed] = await refused(...digest, '--every', '1h', '--app', app)
    assert.match(mixed, /got both, expected either cron or every/)
    assert.equal((await refused(...job, '--until', 'soon', '--app', app))[0], 2)
    assert.equal((await refused(...digest, '--payload', '{', '--app', app))[0], 2)
    const [, past] = await refused(...job, '--until', '2020-01-01', '--app', app)
    assert.match(
      past,
      /until: got 2020-01-01T00:00:00\.000Z, expected a time in the next ten years/,
    )
    const [, none] = await refused('--every', '1h', '--app', app)
    assert.match(none, /--queue/)
  })

  test('list in pages, by prefix', async () => {
    const { data, read, run } = await sceneWithStore()
    await using mill = await open(reports, { data })
    await mill.schedules.setMany(
      [1, 2, 3].map((user) => ({
        ...({ name: `digest/${user}`, every: '1h', payload: { user } } as const),
        job: { queue: 'mail', type: 'DIGEST' },
      })),
    )
    const prefix = ['schedule', 'list', '--prefix', 'reports-dev-digest/', '--limit', '2']
    const first = await read(...prefix)
    assert.deepEqual(
      first.schedules.map(({ name }: { readonly name: string }) => name),
      ['reports-dev-digest/1', 'reports-dev-digest/2'],
    )
    const second = await read(...prefix, '--after', first.next)
    assert.deepEqual([second.schedules.length, second.next], [1, null])
    const { stdout, stderr } = await run(...prefix)
    assert.match(stdout, /^NAME +RULE +KIND +NEXT AT/)
    assert.equal(stderr, "To see more, add --after 'reports-dev-digest/2'\n")
  })
})
