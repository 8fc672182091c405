/** The script behind `npm start`: what it installs, and what becomes of signals and exit codes. */
import assert from 'node:assert/strict'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
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
      const copy = await cloneInto(folder.path)
      await writeIn(folder.path, 'node_modules/.package-lock.json', { packages: locked })
      const args = [...pretendingToBe('22.18.0'), copy, 'start']
      const { code, stderr } = await startCommand(process.execPath, args).ended
      assert.equal(code, 1)
      assert.match(stderr, /^Node 22\.18\.0 is too old, .* use Node 24 or newer\.\n$/)
    }))

  test('installs what the server needs, and the rest when that is asked for', () =>
    inTemporaryFolder('run', async (folder) => {
      const copy = await cloneInto(folder.path)
      const npm = join(folder.path, 'npm.mjs')
      await writeFile(npm, fakeNpm)
      const run = async (args: readonly string[]): Promise<string> => {
        const environment = { npm_execpath: npm }
        const { code, stdout } = await startCommand(
          process.execPath,
          [...pretendingToBe('24.0.0'), copy, ...args],
          environment,
        ).ended
        assert.equal(code, 0)
        return stdout
      }
      const installed = (): Promise<readonly string[]> => installedIn(folder.path)

      assert.equal(await run(['start', '--quietly']), 'serve,--quietly\n')
      assert.deepEqual(await installed(), ['node_modules/yaml'])
      assert.deepEqual((await readdir(folder.path)).sort(), [
        '.npmrc',
        'examples',
        'installs',
        'node_modules',
        'npm.mjs',
        'package-lock.json',
        'package.json',
        'scripts',
        'src',
      ])
      await run(['start'])
      assert.equal(await installsIn(folder.path), 1)

      assert.equal(await run(['example', 'small']), 'example\n')
      assert.deepEqual(await installed(), Object.keys(locked))
      await run(['example', 'small'])
      await run(['start'])
      assert.equal(await installsIn(folder.path), 2)

      // Whoever has everything keeps everything when the lock changes.
      const newer = { ...locked, 'node_modules/yaml': { version: '2.0.1' } }
      await writeIn(folder.path, 'package-lock.json', { packages: { '': {}, ...newer } })
      await run(['start'])
      assert.deepEqual(await installed(), Object.keys(newer))
    }))

  test('installs Node too, where that of the machine is too old', () =>
    inTemporaryFolder('run', async (folder) => {
      const copy = await cloneInto(folder.path)
      const npm = join(folder.path, 'npm.mjs')
      await writeFile(npm, fakeNpm)
      const args = [...pretendingToBe('20.0.0'), copy, 'start']
      const { stderr } = await startCommand(process.execPath, args, { npm_execpath: npm }).ended
      // The binary that the real package brings is missing here.
      assert.match(stderr, /Node 20\.0\.0 is too old/)
      assert.deepEqual(await installedIn(folder.path), ['node_modules/yaml', 'node_modules/node'])
    }))

  test('refuses what it does not know', async () => {
    const { code, stderr } = await startCommand(process.execPath, [script, 'begin']).ended
    assert.equal(code, 2)
    assert.match(stderr, /Usage/)
  })
})

const locked = {
  'node_modules/yaml': { version: '2.0.0' },
  'node_modules/node': { version: '24.0.0' },
  'node_modules/vitest': { version: '5.0.0' },
}

/** A repository with the script and hardly anything else; answers the path of the script. */
async function cloneInto(folder: string): Promise<string> {
  await writeIn(folder, 'package.json', {
    dependencies: { yaml: '2' },
    devDependencies: { node: '24', vitest: '5' },
  })
  await writeIn(folder, 'package-lock.json', { packages: { '': {}, ...locked } })
  await writeFile(join(folder, '.npmrc'), '')
  const server = 'console.log(process.argv.slice(2).join())'
  await writeIn(folder, 'src/cli.ts', server)
  await writeIn(folder, 'examples/small/main.ts', 'console.log("example")')
  const copy = join(folder, 'scripts/run.mjs')
  await mkdir(dirname(copy))
  await copyFile(script, copy)
  return copy
}

async function writeIn(folder: string, path: string, content: string | object): Promise<void> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
}

/** `npm ci` as far as the script can see: it installs what the manifest names, as the lock has it. */
const fakeNpm = `
  import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const names = Object.keys({ ...dependencies, ...devDependencies })
  const paths = names.map((name) => 'node_modules/' + name)
  const packages = Object.fromEntries(paths.map((path) => [path, lock.packages[path]]))
  rmSync('node_modules', { recursive: true, force: true })
  mkdirSync('node_modules')
  writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }))
  appendFileSync(new URL('installs', import.meta.url), process.argv[2] + ' ')
`

async function installedIn(folder: string): Promise<readonly string[]> {
  const file = join(folder, 'node_modules/.package-lock.json')
  return Object.keys(JSON.parse(await readFile(file, 'utf8')).packages)
}

async function installsIn(folder: string): Promise<number> {
  const commands = (await readFile(join(folder, 'installs'), 'utf8')).trimEnd().split(' ')
  assert.ok(commands.every((command) => command === 'ci'))
  return commands.length
}

function pretendingToBe(version: string): readonly string[] {
  const versions = `{ value: { ...process.versions, node: '${version}' } }`
  return [
    '--import',
    `data:text/javascript,Object.defineProperty(process, 'versions', ${versions})`,
  ]
}
