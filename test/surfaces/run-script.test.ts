/** The script behind `npm start`, where everything is installed already. */
import assert from 'node:assert/strict'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { startCommand } from '../support/cli-process.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'

const script = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url))
const listening = /listening on (http:\S+)/

describe('npm start', () => {
  test('passes a signal on and takes over the exit code', () =>
    inTemporaryFolder('run', async (folder) => {
      const args = [script, 'start', '--port', '0', '--data', folder.path]
      const run = startCommand(process.execPath, args)
      await run.output(listening)
      run.kill('SIGTERM')
      const { code, stderr } = await run.ended
      assert.equal(code, 0)
      assert.equal(stderr, '')
    }))

  test('takes over the exit code of a server that does not start', async () => {
    const { code, stderr } = await startCommand(process.execPath, [script, 'start', '--port', 'x'])
      .ended
    assert.equal(code, 2)
    assert.match(stderr, /--port/)
  })

  test.runIf(process.platform !== 'win32')('ends with the shell that npm started it in', () =>
    inTemporaryFolder('run', async (folder) => {
      const command = `'${process.execPath}' '${script}' start --port 0 --data '${folder.path}'; true`
      const shell = startCommand('sh', ['-c', command], { npm_lifecycle_event: 'start' })
      const [, url] = await shell.output(listening)
      shell.kill('SIGTERM')
      // The output is closed by the last process that holds it, which is the server.
      await shell.ended
      await assert.rejects(fetch(`${url}/healthz`))
    }),
  )

  test('refuses a Node that does not know the syntax, where the own one was not installed', () =>
    inTemporaryFolder('run', async (folder) => {
      for (const path of ['package-lock.json', 'node_modules/.package-lock.json']) {
        await mkdir(dirname(join(folder.path, path)), { recursive: true })
        await writeFile(join(folder.path, path), '{"packages":{}}')
      }
      const copy = join(folder.path, 'scripts/run.mjs')
      await mkdir(dirname(copy))
      await copyFile(script, copy)
      const versions = "{ value: { ...process.versions, node: '22.18.0' } }"
      const older = `data:text/javascript,Object.defineProperty(process, 'versions', ${versions})`
      const args = ['--import', older, copy, 'start']
      const { code, stderr } = await startCommand(process.execPath, args).ended
      assert.equal(code, 1)
      assert.match(stderr, /^Node 22\.18\.0 is too old, .* use Node 24 or newer\.\n$/)
    }))

  test('refuses what it does not know', async () => {
    const { code, stderr } = await startCommand(process.execPath, [script, 'begin']).ended
    assert.equal(code, 2)
    assert.match(stderr, /usage/)
  })
})
