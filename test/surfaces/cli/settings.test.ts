/** Where the settings of a call come from, and what is said about calls that are wrong. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, test } from 'vitest'
import { exitCodes } from '../../../src/surfaces/cli/exit-codes.ts'
import { readRepositoryFile } from '../../repository/repository-files.ts'
import { childVariables } from '../../support/child-variables.ts'
import { runCli } from '../../support/cli-process.ts'
import { assertRefused, cliScene } from './cli-scene.ts'

const exec = promisify(execFile)

/** The command as a process, called in a folder. */
async function runIn(
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const main = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url))
  const { stdout } = await exec(process.execPath, [main, ...args], {
    cwd: folder,
    env: { ...childVariables, ...env },
  })
  return stdout
}

describe('the data directory', () => {
  test('comes from the flag, else the variable, else the project, else the user', async () => {
    const { write, file } = await cliScene()
    await write('home/.config/millrace/config.json', '{ "data": "users" }')
    await write('project/deep/down/nothing', '')
    const home = { HOME: file('home') }
    const at = (...names: string[]): boolean[] => names.map((name) => existsSync(file(name)))
    const folder = file('project/deep/down')
    const create = ['queue', 'create', 'orders']

    await runIn(folder, create, home)
    assert.deepEqual(at('home/.config/millrace/users/millrace.db'), [true])
    await write('project/millrace.json', '{ "data": "store" }')
    await runIn(folder, create, home)
    assert.deepEqual(at('project/store/millrace.db'), [true])
    await write('project/millrace.json', '{ "store": "named", "data": "unused" }')
    await runIn(folder, create, home)
    assert.deepEqual(at('project/named/millrace.db', 'project/unused'), [true, false])
    await write('project/millrace.json', '{ "store": "postgres://127.0.0.1:1/none" }')
    await assert.rejects(runIn(folder, create, home), /Cannot open postgres:\/\/127\.0\.0\.1:1/)
    await runIn(folder, create, { ...home, MILLRACE_DATA: file('from-variable') })
    assert.deepEqual(at('from-variable/millrace.db'), [true])
    await runIn(folder, [...create, '--data', file('from-flag')], {
      ...home,
      MILLRACE_DATA: file('unused'),
    })
    assert.deepEqual(at('from-flag/millrace.db', 'unused'), [true, false])
  })
})

describe('a settings file', () => {
  test.each([
    ['{ "dta": "x" }', /unknown setting 'dta'; did you mean 'data'\?/],
    ['[]', /must contain a JSON object/],
    ['{', /must contain a JSON object/],
    ['{ "data": true }', /'data' must be a string or a number/],
    ['{ "region": "Mars!" }', /'region' in a settings file is not valid\. Use a region/],
  ])('is refused when it is %s', async (text, line) => {
    const { write, run } = await cliScene()
    await write('millrace.json', text)
    await write('template.yaml', 'Resources: {}\n')
    assertRefused(await run('up', 'template.yaml', '--dry-run'), 2, line)
  })
})

describe('a call that is wrong', () => {
  test('offers the command or option that was meant', async () => {
    const { run } = await cliScene()
    assertRefused(await run('quue', 'list'), 2, /Did you mean queue\?/)
    assertRefused(await run('queue', 'lst'), 2, /Did you mean list\?/)
    assertRefused(await run('queue', 'list', '--jsn'), 2, /Did you mean --json\?/)
  })

  test('makes no store', async () => {
    const { run, data } = await cliScene()
    for (const args of [
      ['queue', 'list'],
      ['message', 'peek', 'orders'],
      ['dlq', 'list'],
      ['doctor'],
    ]) {
      assertRefused(await run(...args), 6, /^error: There is no store in .*data\.$/m)
    }
    assert.equal(existsSync(data), false)
  })
})

describe('help', () => {
  test('shows usage, a sentence, variables and examples', async () => {
    const { good } = await cliScene()
    const help = await good('message', 'send', '--help')
    assert.match(help, /^Usage: millrace message send \[options\] <queue> \[body\]$/m)
    assert.match(help, /env:\s+MILLRACE_DATA/)
    assert.match(help, /^Examples:\n {2}millrace message send orders/m)
  })

  test('names every command', async () => {
    const { good } = await cliScene()
    const help = await good('--help')
    const nouns = ['dev', 'serve', 'health', 'up', 'template', 'doctor', 'queue', 'message', 'dlq']
    for (const name of [...nouns, 'collector', 'switch', 'completion']) {
      assert.match(help, new RegExp(`^ {2}${name}\\b`, 'm'))
    }
    assert.equal(help.includes('__complete'), false)
  })

  test('is written down: every command and every exit code is in the documentation', async () => {
    const page = readRepositoryFile('docs/cli.md')
    const { good } = await cliScene()
    for (const noun of ['queue', 'message', 'dlq', 'template', 'collector', 'switch']) {
      const lines = (await good(noun, '--help')).split('Commands:\n')[1] ?? ''
      for (const [, verb] of lines.matchAll(/^ {2}(\w+)/gm)) {
        if (verb !== 'help') assert.ok(page.includes(`${noun} ${verb}`), `${noun} ${verb}`)
      }
    }
    for (const code of Object.values(exitCodes))
      assert.match(page, new RegExp(`^\\| ${code} \\|`, 'm'))
  })
})

describe('health', () => {
  test('cannot reach a server that is not there', async () => {
    const { run } = await cliScene()
    assertRefused(await run('health', '--url', 'http://127.0.0.1:9'), 6, /No response/)
    assertRefused(await run('health', '--url', 'nonsense'), 2, /http:\/\//)
  })

  test('is told by the exit code, so that a container needs no other program', async () => {
    const { createServer } = await import('node:http')
    let status = 200
    const server = createServer((_, response) => response.writeHead(status).end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
    const ready = await runCli(['health'], { MILLRACE_URL: url })
    assert.deepEqual([ready.code, ready.stdout], [0, 'ready\n'])
    status = 503
    const { code, stderr } = await runCli(['health', '--url', url])
    server.close()
    assert.equal(code, 1)
    assert.match(stderr, /is not ready \(status 503\)/)
  })
})
