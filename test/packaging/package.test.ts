/**
 * What users get: the packed tarball, unpacked into an empty project with nothing beside it but the
 * dependencies it declares.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'

const execute = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  readonly name: string
  readonly version: string
  readonly bin: { readonly millrace: string }
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies: Readonly<Record<string, string>>
}
const subpaths = Object.keys(manifest.exports).filter((path) => path !== './package.json')
const names = subpaths.map((path) => join(manifest.name, path))

/** Far above today's size, far below what a stray folder would add. */
const tarballBytesMax = 640_000

/** Each module costs time and memory; the modules that run an app are three times as many. */
const modulesOfEntryMax = 65

/** Node's own HTTP and TLS, which take 15 MB. */
function isHttp(builtin: string): boolean {
  return /undici|^https?$|^_http|^_tls/.test(builtin)
}

let folder: TemporaryFolder
let tarball: string
let installed: string

beforeAll(async () => {
  folder = await temporaryFolder('package')
  await execute('npm', ['pack', '--pack-destination', folder.path], { cwd: root })
  tarball = folder.file(`${manifest.name}-${manifest.version}.tgz`)
  installed = folder.file(join('node_modules', manifest.name))
  await mkdir(installed, { recursive: true })
  await execute('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  for (const name of Object.keys(manifest.dependencies)) await link(name)
  await writeFile(folder.file('package.json'), '{ "type": "module", "private": true }')
})

afterAll(() => folder.remove())

async function link(name: string): Promise<void> {
  const place = folder.file(join('node_modules', name))
  await mkdir(dirname(place), { recursive: true })
  await symlink(join(root, 'node_modules', name), place, 'dir')
}

/** What the program printed; a failure shows it, since checkers explain themselves on stdout. */
async function node(args: readonly string[]): Promise<string> {
  try {
    return (await execute(process.execPath, [...args], { cwd: folder.path })).stdout
  } catch (error) {
    const { message, stdout } = error as Error & { readonly stdout: string }
    throw new Error(`${message}\n${stdout}`, { cause: error })
  }
}

interface Loaded {
  /** Files of the package. */
  readonly modules: readonly string[]
  /** Other packages. */
  readonly packages: readonly string[]
  /** Parts of Node, those that it loads for itself included. */
  readonly builtins: readonly string[]
}

/** What a process of its own has loaded after this code. */
async function loadedBy(code: string): Promise<Loaded> {
  const stdout = await node([
    '--input-type=module',
    '--eval',
    `import { registerHooks } from 'node:module'
    const files = []
    const load = (url, context, next) => {
      if (url.startsWith('file:')) files.push(url)
      return next(url, context)
    }
    registerHooks({ load })
    ${code}
    const builtins = process.moduleLoadList
    process.stdout.write(JSON.stringify({ files, builtins }))`,
  ])
  const { files, builtins } = JSON.parse(stdout) as Record<'files' | 'builtins', string[]>
  const isOwn = (file: string): boolean => file.includes(`/node_modules/${manifest.name}/dist/`)
  const others = files.filter((file) => !isOwn(file)).map((file) => packageOf(file))
  return {
    modules: files.filter(isOwn),
    packages: [...new Set(others)].sort(),
    builtins: builtins.map((name) => name.replace(/^\S+ /, '')),
  }
}

function packageOf(file: string): string {
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? []
  return name ?? file
}

describe('the package', () => {
  test('contains what was built and nothing else', async () => {
    const entries = await readdir(installed, { recursive: true, withFileTypes: true })
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1))
    const documents = new Set(['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE'])
    const strays = files.filter(
      (file) => !documents.has(file) && !/^dist\/.*(?<!\.test)\.(?:js|d\.ts)$/.test(file),
    )
    assert.deepEqual(strays, [])
    for (const document of documents) assert.ok(files.includes(document), document)
  })

  test('is small', async () => {
    const { size } = await stat(tarball)
    assert.ok(size < tarballBytesMax, `${size} bytes`)
  })

  test('has nothing to object to for publint', async () => {
    const file = await readFile(tarball)
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(file).buffer } })
    assert.deepEqual(
      messages.map((message) => formatMessage(message, pkg, { color: false })),
      [],
    )
  })

  test('has types that every way to import it finds', async () => {
    const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js')
    const offline = '--no-definitely-typed'
    await node([attw, tarball, '--profile', 'esm-only', offline, '--no-color', '--no-emoji'])
  })

  test.each(names)('exports %s', async (name) => {
    const code = `console.log(Object.keys(await import('${name}')).length)`
    const stdout = await node(['--input-type=module', '--eval', code])
    assert.ok(Number(stdout) > 0, `${name} exports nothing`)
  })

  test('costs little to import: only what declares an app, and no store', async () => {
    const { modules, packages, builtins } = await loadedBy("await import('millrace')")
    assert.ok(modules.length < modulesOfEntryMax, `${modules.length} modules`)
    assert.deepEqual(
      modules.filter((file) => /\/(?:backends|maintenance|operations)\//.test(file)),
      [],
    )
    assert.deepEqual(packages, ['croner'])
    assert.deepEqual(builtins.filter(isHttp), [])
  })

  test('opens an app and runs a worker without a server and an HTTP client', async () => {
    const { modules, packages, builtins } = await loadedBy(`
      const { defineApp, jobs, open } = await import('millrace')
      const validate = (value) => ({ value })
      const anything = { '~standard': { version: 1, vendor: 'test', validate } }
      const app = defineApp('small', { queues: { work: jobs({ types: { ANY: anything } }) } })
      const mill = await open(app, { data: 'small' })
      const done = Promise.withResolvers()
      const handle = { ANY: () => done.resolve() }
      mill.worker({ poll: ['work'], handle }).start()
      await mill.jobs.enqueue('work', 'ANY', 1)
      await done.promise
      await mill.close()
    `)
    assert.ok(modules.some((file) => file.includes('/backends/sqlite/')))
    assert.deepEqual(packages, ['croner'])
    assert.deepEqual(builtins.filter(isHttp), [])
  })

  test('serves without what only some servers need', async () => {
    const { packages } = await loadedBy(`
      const { serve } = await import('millrace/server')
      const server = await serve({ port: 0, dataDirectory: 'served' })
      const { status } = await fetch(server.url + '/healthz')
      if (status !== 200) throw new Error('status ' + status)
      await server.stop()
    `)
    assert.ok(packages.includes('hono'))
    const needless = [
      '@clack/prompts',
      'commander',
      'jose',
      'pino',
      'rate-limiter-flexible',
      'yaml',
    ]
    assert.deepEqual(
      packages.filter((name) => needless.includes(name)),
      [],
    )
  })

  test('has types that hold in a strict project that also checks its libraries', async () => {
    await link('@types/node')
    await link('undici-types')
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
    }
    const imports = names.map((name, index) => `import * as module${index} from '${name}'\n`)
    const uses = names.map((_, index) => `console.log(module${index})\n`)
    await writeFile(folder.file('use.ts'), [...imports, ...uses].join(''))
    const config = { compilerOptions, files: ['use.ts'] }
    await writeFile(folder.file('tsconfig.json'), JSON.stringify(config))
    await node([join(root, 'node_modules/typescript/bin/tsc'), '--project', folder.path])
  })

  test('brings a command that runs', async () => {
    const command = join(installed, manifest.bin.millrace)
    await access(command, constants.X_OK)
    // The shebang line asks for whichever Node comes first on the path.
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
    const { stdout } = await execute(command, ['--version'], { env: { PATH } })
    assert.equal(stdout.trim(), manifest.version)
  })

  test.each(['millrace', 'millrace/server'])('says in %s which Node it needs', async (name) => {
    const code = `await import('${name}').catch(({ code, message }) => console.log(code, message))`
    const stdout = await node([...olderNode, '--input-type=module', '--eval', code])
    assert.match(stdout, /^unsupported Millrace needs Node 22\.18 or newer; this is Node 20\.19\.0/)
  })

  test('has a command that says which Node it needs, in one line', async () => {
    const command = join(installed, manifest.bin.millrace)
    const run = execute(process.execPath, [...olderNode, command, '--version'])
    await assert.rejects(run, ({ code, stdout, stderr }) => {
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^error: Millrace needs Node 22\.18 or newer.*\n$/)
      return true
    })
  })

  test('has a command that runs where modules have no compile cache', async () => {
    const preload = preloading(`
      import modules, { syncBuiltinESMExports } from 'node:module'
      delete modules.enableCompileCache
      syncBuiltinESMExports()
    `)
    const command = join(installed, manifest.bin.millrace)
    const { stdout } = await execute(process.execPath, [...preload, command, '--version'])
    assert.equal(stdout.trim(), manifest.version)
  })
})

function preloading(code: string): readonly string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** Lets a process take its Node for an older one. */
const olderNode = preloading(
  "Object.defineProperty(process.versions, 'node', { value: '20.19.0' })",
)
