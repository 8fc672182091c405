/**
 * Projects as users have them, with the packed package installed: CommonJS, TypeScript with the usual
 * settings, Jest, and programs that mix `import` and `require`.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { documented, names, Project } from './project.ts'
import { compilers, installTools, jest, jestGlobals, nodes, tsJest } from './tools.ts'

const page = 'docs/declaring-an-app.md'

/** Downloads a Node where it is not cached. */
const patienceMs = 300_000

const schema = `
  const anything = {
    '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
  }`

export function describeConsumers(tarball: () => string): void {
  let project: Project

  beforeAll(async () => {
    await installTools()
    project = await Project.create(tarball(), 'commonjs')
    for (const name of ['zod', '@types/node', 'undici-types']) await project.link(name)
    await project.link('@jest/globals', jestGlobals)
  }, patienceMs)

  afterAll(() => project.folder.remove())

  async function print(file: string, code: string, node: string): Promise<string> {
    await project.write(file, code)
    return (await project.run([file], node)).trim()
  }

  describe.each(nodes)('a project on Node $version', ({ version, path: node }) => {
    test('is what it is called', async () => {
      const printed = await project.run(['--print', 'process.versions.node'], node)
      assert.ok(printed.startsWith(`${version}.`), printed)
    })

    test('runs the documented program in CommonJS', async () => {
      const code = await documented(page, 'work.cjs')
      assert.equal(await print('work.cjs', code, node), 'the text of p1.png')
    })

    test('has the same values by import and by require', async () => {
      const code = `
        const names = ${JSON.stringify(names)}
        const compare = async (name) => {
          const required = require(name)
          const imported = await import(name)
          const keys = Object.keys(imported)
          const differ = keys.filter((key) => imported[key] !== required[key])
          return [name, differ, keys.join() === Object.keys(required).sort().join()]
        }
        Promise.all(names.map(compare)).then((all) => console.log(JSON.stringify(all)))`
      assert.deepEqual(
        JSON.parse(await print('same.cjs', code, node)),
        names.map((name) => [name, [], true]),
      )
    })

    test('may have an app in ES modules and a dependency in CommonJS', async () => {
      await project.write(
        'node_modules/academy/index.js',
        `const { defineApp, jobs, UnrecoverableError } = require('millrace')
        ${schema}
        exports.app = defineApp('academy', { queues: { work: jobs({ types: { ANY: anything } }) } })
        exports.fail = () => { throw new UnrecoverableError('never') }
        exports.declareWrongly = () => defineApp('academy', { queues: { work: 1 } })`,
      )
      const code = `
        import { MillraceError, open } from 'millrace'
        import { app, declareWrongly, fail } from 'academy'
        const mill = await open(app, { data: 'mixed-${version}' })
        mill.worker({ poll: ['work'], handle: { ANY: fail } }).start()
        const { id } = await mill.jobs.enqueue('work', 'ANY', 1)
        const { status, attemptsMade } = await mill.jobs.waitFor(id)
        await mill.close()
        let error
        try { declareWrongly() } catch (thrown) { error = thrown }
        console.log(status, attemptsMade, error instanceof MillraceError)`
      assert.equal(await print('mixed.mjs', code, node), 'failed 1 true')
    })

    test('has threads, in CommonJS too: leases are kept while a handler blocks', async () => {
      const code = `
        const { defineApp, jobs, open } = require('millrace')
        ${schema}
        const work = jobs({ types: { BLOCK: anything }, visibilityTimeout: '3s' })
        const app = defineApp('threads', { queues: { work } })
        const handle = {
          BLOCK: (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
        }
        const main = async () => {
          const mill = await open(app, { data: 'threads-${version}' })
          mill.worker({ poll: ['work'], handle }).start()
          const { id } = await mill.jobs.enqueue('work', 'BLOCK', 4500)
          const { status, attemptsMade } = await mill.jobs.waitFor(id)
          // Another thread looks whether the copy can be restored.
          await mill.backup('copy-${version}.db')
          await mill.close()
          console.log(status, attemptsMade)
        }
        main()`
      assert.equal(await print('threads.cjs', code, node), 'completed 1')
    })

    test('serves from CommonJS, with packages that have only ES modules', async () => {
      const code = `
        const { defineApp, queue } = require('millrace')
        const { serve } = require('millrace/server')
        const app = defineApp('served', { queues: { work: queue() } })
        const auth = { jwt: { secret: '${secret}' } }
        const main = async () => {
          const server = await serve({ port: 0, data: 'served-${version}', app, auth })
          const headers = { authorization: 'Bearer ${token()}' }
          const healthy = await fetch(server.url + '/healthz')
          const refused = await fetch(server.url + '/switches')
          const allowed = await fetch(server.url + '/switches', { headers })
          await server.stop()
          console.log(healthy.status, refused.status, allowed.status)
        }
        main()`
      assert.equal(await print('serve.cjs', code, node), '200 401 200')
    })

    test('runs a template and an app in ES modules, from CommonJS', async () => {
      const folder = `functions-${version}`
      await project.write(`${folder}/template.yaml`, template)
      await project.write(`${folder}/on-message.js`, 'exports.handler = async () => undefined')
      await project.write(
        `${folder}/app.mjs`,
        `import { defineApp, queue } from 'millrace'
        export const app = defineApp('declared', { queues: { work: queue() } })`,
      )
      const code = `
        const { startDev } = require('millrace/server')
        const main = async () => {
          const invoked = Promise.withResolvers()
          const dev = await startDev({
            port: 0,
            data: '${folder}/data',
            templates: ['${folder}/template.yaml', '${folder}/app.mjs'],
            onInvocation: (report) => invoked.resolve(report),
          })
          const call = async (action, body) => {
            const type = 'application/x-amz-json-1.0'
            const headers = { 'content-type': type, 'x-amz-target': 'AmazonSQS.' + action }
            const request = { method: 'POST', headers, body: JSON.stringify(body) }
            return (await fetch(dev.url, request)).json()
          }
          const { QueueUrls } = await call('ListQueues', {})
          const QueueUrl = QueueUrls.find((url) => url.endsWith('/clock'))
          await call('SendMessage', { QueueUrl, MessageBody: 'noon' })
          const { status } = await invoked.promise
          await dev.stop()
          const names = QueueUrls.map((url) => url.slice(url.lastIndexOf('/') + 1)).sort()
          console.log(status, names.join())
        }
        main()`
      const printed = await print(`${folder}.cjs`, code, node)
      assert.equal(printed, 'succeeded clock,declared-dev-work')
    })

    test('tests with Jest, as documented', async () => {
      const code = await documented(page, 'work.test.js')
      await project.write('plain/work.test.js', code)
      await project.write('plain/jest.config.json', '{}')
      await project.run([jest, '--ci', '--config', 'plain/jest.config.json'], node)
    })

    test('tests with Jest and ts-jest, and reads what a handler of Node threw', async () => {
      await project.write('typed/work.test.ts', jestInTypeScript)
      const options = { module: 'commonjs', target: 'es2023', strict: true, skipLibCheck: true }
      const compilerOptions = { ...options, types: ['node'], esModuleInterop: true }
      await project.write('typed/tsconfig.json', JSON.stringify({ compilerOptions }))
      const transform = { '\\.ts$': tsJest }
      await project.write('typed/jest.config.json', JSON.stringify({ transform }))
      await project.run([jest, '--ci', '--config', 'typed/jest.config.json'], node)
    })
  })

  describe.each(Object.entries(compilers))('a project with %s', (name, tsc) => {
    const isOld = name.endsWith(' 5.9')
    const settings = [
      { module: 'commonjs', moduleResolution: isOld ? 'node10' : 'bundler', endings: ['ts'] },
      { module: 'node16', moduleResolution: 'node16', endings: ['ts', 'cts', 'mts'] },
      { module: 'nodenext', moduleResolution: 'nodenext', endings: ['ts', 'cts', 'mts'] },
    ]

    test.each(settings)('compiles for $module and runs', async (setting) => {
      const { endings, ...resolution } = setting
      const folder = `${isOld ? 'old' : 'new'}-${setting.module}`
      for (const ending of endings) await project.write(`${folder}/work.${ending}`, typedProgram)
      const compilerOptions = {
        ...resolution,
        target: 'es2023',
        lib: ['es2023', 'esnext.disposable'],
        types: ['node'],
        strict: true,
        exactOptionalPropertyTypes: true,
        outDir: 'built',
        rootDir: '.',
      }
      await project.write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions }))
      await project.run([tsc, '--project', folder])
      for (const ending of endings) {
        const built = `${folder}/built/work.${ending.replace('ts', 'js')}`
        assert.equal((await project.run([built])).trim(), 'Hello Ada', built)
      }
    })
  })
}

const secret = 'a secret of at least thirty-two bytes'

/** Signed here, so that the package alone needs a library for it. */
function token(): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const claims = { sub: 'ada', role: 'admin', exp: Math.floor(Date.now() / 1_000) + 600 }
  const signed = `${encode({ alg: 'HS256' })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

const typedProgram = `
${names.map((name, index) => `export type * as entry${index} from '${name}'`).join('\n')}
import { defineApp, jobs, MillraceError, type Mill, open } from 'millrace'
import type { Backend, Capabilities, JobStore } from 'millrace/backend'
import { createJobsApi, type RunningServer } from 'millrace/server'
import { openForTest, type TestMill, VirtualClock } from 'millrace/testing'
import { describeBackendContract } from 'millrace/testing/backend'
import type { StandardSchemaV1 } from '@standard-schema/spec'

export type Parts = [Backend, Capabilities, JobStore, RunningServer, MillraceError, VirtualClock]

const text: StandardSchemaV1<string, string> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: String(value) }) },
}
const app = defineApp('typed', { queues: { work: jobs({ types: { GREET: text } }) } })

async function main(): Promise<void> {
  const mill: Mill<typeof app> = await open(app, { data: 'typed' })
  const handle = { GREET: (name: string) => 'Hello ' + name }
  mill.worker({ poll: ['work'], handle }).start()
  const { id } = await mill.jobs.enqueue('work', 'GREET', 'Ada')
  // @ts-expect-error: the type of a job says what its payload is
  const wrong = () => mill.jobs.enqueue('work', 'GREET', 1)
  const { result } = await mill.jobs.waitFor(id)
  await mill.close()
  await testing()
  const functions = [wrong, createJobsApi, describeBackendContract]
  console.log(result, ...functions.filter((value) => typeof value !== 'function'))
}

async function testing(): Promise<void> {
  const mill: TestMill<typeof app> = await openForTest(app, {
    handle: { GREET: (name) => 'Hello ' + name.toUpperCase() },
  })
  await mill.jobs.enqueue('work', 'GREET', 'Ada', { delay: '10m' })
  const { completed } = await mill.advance('10m')
  const [job] = await mill.jobs('work', { type: 'GREET' })
  const payload: string | undefined = job?.payload
  // @ts-expect-error: there is no such queue
  const wrong = () => mill.jobs('wrok')
  await mill.close()
  if (completed !== 1 || payload !== 'Ada' || job?.result !== 'Hello ADA') throw new Error('not done')
  if (typeof wrong !== 'function') throw new Error('not a function')
}
void main()
`

const jestInTypeScript = `
import { expect, jest, test } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import { defineApp, jobs, MillraceError, open } from 'millrace'
import { openForTest } from 'millrace/testing'
import { z } from 'zod'

const app = defineApp('typed', { queues: { work: jobs({ types: { READ: z.string() } }) } })

test('runs an app in memory, also with fake timers', async () => {
  jest.useFakeTimers()
  const mill = await openForTest(app, { handle: { READ: (file) => 'the text of ' + file } })
  await mill.jobs.enqueue('work', 'READ', 'p1', { delay: '10m' })
  expect(await mill.advance('10m')).toMatchObject({ completed: 1 })
  expect(await mill.jobs('work')).toMatchObject([{ payload: 'p1', result: 'the text of p1' }])
  await mill.close()
  jest.useRealTimers()
})

test('says why a job failed', async () => {
  const mill = await open(app, { data: 'jest-typed' })
  const handle = { READ: (file: string) => readFile(file, 'utf8') }
  mill.worker({ poll: ['work'], handle }).start()
  const { id } = await mill.jobs.enqueue('work', 'READ', 'nowhere', { attempts: 1 })
  const { status, error } = await mill.jobs.waitFor(id)
  expect(status).toBe('failed')
  expect(error).toMatch(/^ENOENT/)
  await expect(mill.jobs.enqueue('work', 'READ', 1 as never)).rejects.toBeInstanceOf(MillraceError)
  await mill.close()
})
`

const template = `
Transform: AWS::Serverless-2016-10-31
Resources:
  Clock:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: clock
  OnMessage:
    Type: AWS::Serverless::Function
    Properties:
      Handler: on-message.handler
      Runtime: nodejs22.x
      Events:
        Message:
          Type: SQS
          Properties:
            Queue: !GetAtt Clock.Arn
`
