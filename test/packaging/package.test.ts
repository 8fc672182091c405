/**
 * What users get: the packed tarball, unpacked into an empty project with nothing beside it but the
 * dependencies it declares.
 */
import assert from 'node:assert/strict'
import { constants } from 'node:fs'
import { access, readdir, readFile, stat } from 'node:fs/promises'
import { delimiter, dirname, join, posix } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { linksIn } from '../support/links-in.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { describeConsumers } from './consumers.ts'
import { execute, manifest, names, Project, pack, root } from './project.ts'

/** Just above the sizes of today, unpacked. A bound that is reached asks for a look at what was added. */
const bytesMax: Readonly<Record<string, number>> = { dist: 4_200_000, docs: 420_000 }

/** Each module costs time and memory; the modules that run an app are three times as many. */
const modulesOfEntryMax = 65

/** Node's own HTTP and TLS, which take 15 MB. */
function isHttp(builtin: string): boolean {
  return /undici|^https?$|^_http|^_tls/.test(builtin)
}

let packing: TemporaryFolder
let tarball: string
let project: Project

beforeAll(async () => {
  packing = await temporaryFolder('packing')
  tarball = await pack(packing)
  project = await Project.create(tarball, 'module')
})

afterAll(async () => {
  await packing.remove()
  await project.folder.remove()
})

function node(args: readonly string[]): Promise<string> {
  return project.run(args)
}

/** The paths of all files in the package. */
async function packedFiles(): Promise<readonly string[]> {
  const { installed } = project
  const entries = await readdir(installed, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1))
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
  test('contains what was built, the documentation and nothing else', async () => {
    const files = await packedFiles()
    const documents = ['README', 'ARCHITECTURE', 'CHANGELOG', 'CONTRIBUTING'].map(
      (name) => `${name}.md`,
    )
    const others = new Set([...documents, 'package.json', 'dist/package.json', 'LICENSE'])
    const expected =
      /^dist\/.*(?<!\.test)\.js$|^dist\/.*\.d\.ts$|^dist\/.*\.(?:mjs|d\.mts)$|^docs\/.*\.md$/
    assert.deepEqual(
      files.filter((file) => !others.has(file) && !expected.test(file)),
      [],
    )
    for (const other of others) assert.ok(files.includes(other), other)
    // One small module beside each entry; everything else is CommonJS.
    assert.equal(files.filter((file) => file.endsWith('.mjs')).length, names.length)
  })

  test('has no dead link in its documentation', async () => {
    const files = await packedFiles()
    const pages = files.filter((file) => file.endsWith('.md'))
    const dead: string[] = []
    let count = 0
    for (const page of pages) {
      for (const link of linksIn(await readFile(join(project.installed, page), 'utf8'))) {
        count += 1
        const target = posix.join(posix.dirname(page), link)
        const folder = target.endsWith('/') ? target : `${target}/`
        const isThere = files.some((file) => file === target || file.startsWith(folder))
        if (!isThere) dead.push(`${page} links to ${target}`)
      }
    }
    assert.ok(count > 100, `${count} links`)
    assert.deepEqual(dead, [])
  })

  test.each(Object.entries(bytesMax))('has a %s of at most %d bytes', async (folder, max) => {
    const files = await readdir(join(project.installed, folder), {
      recursive: true,
      withFileTypes: true,
    })
    const sizes = await Promise.all(
      files
        .filter((file) => file.isFile())
        .map(async (file) => (await stat(join(file.parentPath, file.name))).size),
    )
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    assert.ok(bytes > max / 2 && bytes < max, `${bytes} bytes`)
  })

  test('has nothing to object to for publint', async () => {
    const file = await readFile(tarball)
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(file).buffer } })
    assert.deepEqual(
      messages.map((message) => formatMessage(message, pkg, { color: false })),
      [],
    )
  })

  test('has types that every way to import or require it finds', async () => {
    const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js')
    await node([attw, tarball, '--no-definitely-typed', '--no-color', '--no-emoji'])
  })

  test.each(names)('exports %s', async (name) => {
    const code = `console.log(Object.keys(await import('${name}')).join())`
    const stdout = await node(['--input-type=module', '--eval', code])
    // The types of a store are nothing at run time.
    assert.equal(stdout.trim() === '', name === 'millrace/backend', stdout)
    assert.doesNotMatch(stdout, /\bdefault\b/)
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

  test('opens an app for a test without a server, an HTTP client and the contract of backends', async () => {
    const clock = await loadedBy("await import('millrace/testing')")
    assert.ok(clock.modules.length < 20, `${clock.modules.length} modules`)
    const { modules, packages, builtins } = await loadedBy(`
      const { defineApp, queue } = await import('millrace')
      const { openForTest } = await import('millrace/testing')
      const app = defineApp('small', { queues: { work: queue() } })
      const mill = await openForTest(app, { handle: { work: () => undefined } })
      await mill.queues.work.send(1)
      await mill.advance('1h')
      await mill.close()
    `)
    assert.deepEqual(
      modules.filter((file) => /\/(?:backend-contract|server|surfaces)\//.test(file)),
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

  test('loads OpenTelemetry only for a program with a tracer provider, and works without it', async () => {
    const opening = (options: string): string => `
      const { defineApp, open, queue } = await import('millrace')
      const mill = await open(defineApp('traced', { queues: { work: queue() } }), ${options})
      await mill.queues.work.send(1)
      await mill.close()`
    const tracing = `
      const names = []
      const span = new Proxy({}, { get: (_, name) => () => (name === 'spanContext' ? {} : span) })
      const tracer = { startSpan: (name) => names.push(name) && span }
      const given = { getTracer: () => tracer }`
    const options = "{ data: 'traced', traces: true }"
    await assert.rejects(
      loadedBy(opening(options)),
      /@opentelemetry\/api cannot be loaded. Install/,
    )
    await project.link('@opentelemetry/api')
    const { packages } = await loadedBy(opening("{ data: 'traced' }"))
    assert.deepEqual(packages, ['croner'])
    const traced = await loadedBy(`${tracing}
      const { trace } = await import('@opentelemetry/api')
      trace.setGlobalTracerProvider(given)
      ${opening(options)}
      if (names.join() !== 'send traced-dev-work') throw new Error(names.join())`)
    assert.deepEqual(traced.packages, ['@opentelemetry/api', 'croner'])
  })

  test('loads the driver of Postgres only for a store that is opened, and says if it is missing', async () => {
    const opening = `
      const { defineApp, open, queue } = await import('millrace')
      const { postgres } = await import('millrace/postgres')
      const store = postgres('postgres://127.0.0.1:1/none')
      const app = defineApp('small', { queues: { work: queue() } })`
    assert.deepEqual((await loadedBy(opening)).packages, ['croner'])
    const refusal = async (): Promise<string> => {
      const refused =
        'await open(app, { store }).catch(({ code, message }) => console.log(code, message))'
      return node(['--input-type=module', '--eval', `${opening}\n${refused}`])
    }
    assert.match(await refusal(), /^store_unusable .* needs the package pg, .*: npm install pg$/m)
    await project.link('pg')
    assert.match(await refusal(), /^store_unreachable Cannot open .*: no server listens there\.$/m)
  })

  test('loads BullMQ only for a carrier that is opened, and says which package is missing', async () => {
    const opening = `
      const { bullmq } = await import('millrace/bullmq')
      const choice = bullmq('redis://127.0.0.1:1')`
    assert.deepEqual((await loadedBy(opening)).packages, [])
    const refusal = async (): Promise<string> => {
      const refused =
        'await choice.open({ onNotice() {}, now: Date.now }).catch(({ code, message }) => console.log(code, message))'
      return node(['--input-type=module', '--eval', `${opening}\n${refused}`])
    }
    const advice = 'Install both: npm install bullmq ioredis$'
    assert.match(
      await refusal(),
      new RegExp(`^carrier_unusable .*package ioredis, .*${advice}`, 'm'),
    )
    await project.link('ioredis')
    assert.match(
      await refusal(),
      new RegExp(`^carrier_unusable .*package bullmq, .*${advice}`, 'm'),
    )
    await project.link('bullmq')
    assert.match(await refusal(), /^carrier_unreachable .*: no server listens there\.$/m)
  })

  test('serves without what only some servers need', async () => {
    const { packages } = await loadedBy(`
      const { serve } = await import('millrace/server')
      const server = await serve({ port: 0, data: 'served' })
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

  test('brings a command that runs', async () => {
    const command = join(project.installed, manifest.bin.millrace)
    await access(command, constants.X_OK)
    // The shebang line asks for whichever Node comes first on the path.
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
    const { stdout } = await execute(command, ['--version'], { env: { PATH } })
    assert.equal(stdout.trim(), manifest.version)
  })

  test.each([
    'millrace',
    'millrace/bullmq',
    'millrace/postgres',
    'millrace/server',
    'millrace/sqs',
  ])('says in %s which Node it needs', async (name) => {
    const code = `await import('${name}').catch(({ code, message }) => console.log(code, message))`
    const stdout = await node([...olderNode, '--input-type=module', '--eval', code])
    assert.match(stdout, /^unsupported Millrace needs Node 22\.18 or newer; this is Node 20\.19\.0/)
  })

  test('has a command that says which Node it needs, in one line', async () => {
    const command = join(project.installed, manifest.bin.millrace)
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
    const command = join(project.installed, manifest.bin.millrace)
    const { stdout } = await execute(process.execPath, [...preload, command, '--version'])
    assert.equal(stdout.trim(), manifest.version)
  })
})

describeConsumers(() => tarball)

function preloading(code: string): readonly string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** Lets a process take its Node for an older one. */
const olderNode = preloading(
  "Object.defineProperty(process.versions, 'node', { value: '20.19.0' })",
)
