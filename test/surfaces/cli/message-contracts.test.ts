/** `millrace message send` on queues that an app declares: jobs and messages that the app would refuse. */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, open, queue } from '../../../src/index.ts'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const library = fileURLToPath(new URL('../../../src/index.ts', import.meta.url))

const academy = defineApp('academy', {
  queues: {
    basic: jobs({
      attempts: 2,
      types: { OCR: { schema: z.object({ page: z.number() }), expiresAfter: '1h' } },
    }),
    orders: queue({ schema: z.object({ type: z.string() }) }),
  },
})

/** The same app as a file, as the command loads it. */
const appFile = `
import { z } from 'zod'
import { defineApp, jobs, queue } from ${JSON.stringify(library)}
export default defineApp('academy', {
  queues: {
    basic: jobs({
      attempts: 2,
      types: { OCR: { schema: z.object({ page: z.number() }), expiresAfter: '1h' } },
    }),
    orders: queue({ schema: z.object({ type: z.string() }) }),
  },
})
`
const basic = ['message', 'send', 'academy-dev-basic']
const orders = ['message', 'send', 'academy-dev-orders']

async function academyScene(): Promise<CliScene & { readonly app: readonly string[] }> {
  const scene = await cliScene()
  await (await open(academy, { data: scene.data })).close()
  return { ...scene, app: ['--app', await scene.write('app.ts', appFile)] }
}

async function storedIn({ store }: CliScene, name: string): Promise<number> {
  const { backend } = await store()
  return (await backend.queueStatistics({ queue: name })).ready
}

describe('with the app', () => {
  test('a job gets the settings of its type', async () => {
    const { good, read, app } = await academyScene()
    const id = (await good(...basic, '{"page":7}', '--type', 'OCR', ...app)).trim()
    const { max_attempts, created_at, expires_at } = await read('job', 'show', id)
    assert.equal(max_attempts, 2)
    assert.equal(Date.parse(expires_at) - Date.parse(created_at), 3_600_000)
  })

  test.each([
    ['an unknown type', ['{"page":7}', '--type', 'OCRR'], 2, /--type: got 'OCRR', expected one of/],
    [
      'a payload that breaks the contract',
      ['{}', '--type', 'OCR'],
      1,
      /message\.page: got nothing/,
    ],
    ['no type', ['{"page":7}'], 2, /--type: got nothing, expected one of OCR/],
  ] as const)('a job is refused for %s', async (_name, args, code, reason) => {
    const scene = await academyScene()
    assertRefused(await scene.run(...basic, ...args, ...scene.app), code, reason)
    assert.equal(await storedIn(scene, 'academy-dev-basic'), 0)
  })

  test('each line is checked', async () => {
    const { start, app } = await academyScene()
    const stdin = '{"page":1}\n{"page":"two"}\n'
    const end = await start([...basic, '--lines', '--type', 'OCR', ...app], { stdin }).ended
    assert.equal(end.stdout, '1 sent, 0 duplicates, 1 refused.\n')
    assert.match(end.stderr, /line 2: .*message\.page: got a string, expected number/)
    assert.equal(end.code, 5)
  })

  test('a message is checked against the contract of its queue, in its own words', async () => {
    const { run, good, app } = await academyScene()
    await good(...orders, '{"type":"gift"}', ...app)
    assertRefused(await run(...orders, '{"type":7}', ...app), 1, /message\.type: got a number/)
    const typed = await run(...orders, '{"type":"gift"}', '--type', 'OCR', ...app)
    assertRefused(typed, 2, /--type: got 'OCR', expected none/)
  })

  test('a queue that the app does not declare is reported', async () => {
    const { run, app, store } = await academyScene()
    await (await store()).backend.createQueue({ queue: 'plain' })
    const { code, stderr } = await run('message', 'send', 'plain', 'x', ...app)
    assert.equal(code, 0)
    assert.match(stderr, /'plain' is not among the queues of the app 'academy' in the stage 'dev'/)
    const elsewhere = await run(...basic, '{"page":7}', '--type', 'OCR', ...app, '--stage', 'prod')
    assertRefused(elsewhere, 2, /'academy-dev-basic' holds jobs .*in the stage 'prod'/)
  })
})

describe('without the app', () => {
  test.each([
    ['a job', ['--type', 'OCR']],
    ['a message', []],
  ])('%s is refused in a queue of jobs', async (_name, flags) => {
    const scene = await academyScene()
    const end = await scene.run(...basic, '{"page":7}', ...flags)
    const reason = /'academy-dev-basic' holds jobs of the type OCR.*--type and --app/
    assertRefused(end, 2, reason)
    const lines = await scene.start([...basic, '--lines', ...flags], { stdin: '{}\n' }).ended
    assertRefused(lines, 2, reason)
    assert.equal(await storedIn(scene, 'academy-dev-basic'), 0)
  })

  test('other queues take messages, and jobs too if no app declares their types', async () => {
    const { good, run } = await academyScene()
    await good(...orders, 'anything')
    await run('queue', 'create', 'open')
    await good('message', 'send', 'open', '{}', '--type', 'ANY')
  })

  test('a queue whose jobs were removed from the app takes messages again', async () => {
    const { data, good, read } = await academyScene()
    assert.deepEqual((await read('queue', 'show', 'academy-dev-basic')).settings.job_types, ['OCR'])
    assert.match(await good('queue', 'show', 'academy-dev-basic'), /\njob types +OCR\n/)
    const plain = defineApp('academy', { queues: { basic: queue() } })
    await (await open(plain, { data })).close()
    await good(...basic, 'anything')
  })
})
