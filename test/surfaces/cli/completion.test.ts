/** `millrace completion`: what a shell is told about the word under the cursor. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, test } from 'vitest'
import { childVariables } from '../../support/child-variables.ts'
import { type CliScene, cliScene } from './cli-scene.ts'

interface Scene extends CliScene {
  complete(...words: readonly string[]): Promise<readonly string[]>
}

async function withQueues(): Promise<Scene> {
  const scene = await cliScene()
  const { backend } = await scene.store()
  for (const queue of ['orders', 'orders-dlq', 'mails']) await backend.createQueue({ queue })
  const environment = { MILLRACE_DATA: scene.data }
  return {
    ...scene,
    async complete(...words) {
      const { code, stdout, stderr } = await scene.start(['__complete', '--', ...words], {
        environment,
      }).ended
      assert.deepEqual([code, stderr], [0, ''])
      return stdout.split('\n').filter((line) => line !== '')
    },
  }
}

describe('a word is completed', () => {
  test('to commands and their verbs', async () => {
    const { complete } = await withQueues()
    assert.deepEqual(await complete('d'), ['dev', 'dlq', 'doctor'])
    assert.deepEqual(await complete('dlq', ''), [
      'cancel',
      'follow',
      'list',
      'redrive',
      'show',
      'tasks',
    ])
  })

  test('to the queues that there are, as an argument and as the value of an option', async () => {
    const { complete } = await withQueues()
    assert.deepEqual(await complete('queue', 'show', 'o'), ['orders', 'orders-dlq'])
    assert.deepEqual(await complete('message', 'send', '--group', 'g', 'm'), ['mails'])
    assert.deepEqual(await complete('queue', 'create', 'x', '--dlq', 'orders-'), ['orders-dlq'])
    assert.deepEqual(await complete('dlq', 'redrive', 'orders-dlq', '--to', 'm'), ['mails'])
  })

  test('to options and choices', async () => {
    const { complete } = await withQueues()
    assert.deepEqual(await complete('queue', 'list', '--p'), ['--prefix'])
    assert.deepEqual(await complete('queue', 'list', '--color', 'never', '--js'), ['--json'])
    assert.deepEqual(await complete('completion', ''), ['bash', 'fish', 'powershell', 'zsh'])
  })

  test('to nothing where there is nothing to say, or no store', async () => {
    const { complete, file } = await withQueues()
    assert.deepEqual(await complete('queue', 'show', 'orders', ''), [])
    assert.deepEqual(await complete('message', 'send', '--delay', ''), [])
    assert.deepEqual(await complete('queue', 'show', '--data', file('nowhere'), ''), [])
  })
})

describe('the script', () => {
  test('completes the names of queues in bash', async () => {
    const { good, write, data, file } = await withQueues()
    const main = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url))
    await write('completion.bash', await good('completion', 'bash'))
    await write('bin/millrace', `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
    await chmod(file('bin/millrace'), 0o755)
    const session = `. '${file('completion.bash')}'
      COMP_WORDS=(millrace queue show ord); COMP_CWORD=3; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', session], {
      env: {
        ...childVariables,
        PATH: `${file('bin')}:${childVariables['PATH']}`,
        MILLRACE_DATA: data,
      },
    })
    assert.equal(stdout, 'orders\norders-dlq\n')
  })

  test.each(['zsh', 'fish', 'powershell'])('exists for %s', async (shell) => {
    const { good } = await cliScene()
    assert.match(await good('completion', shell), /millrace __complete -- /)
  })

  test('is refused for other shells', async () => {
    const { run } = await cliScene()
    const { code, stderr } = await run('completion', 'tcsh')
    assert.equal(code, 2)
    assert.match(stderr, /bash, zsh, fish, powershell/)
  })
})
