/** `millrace serve --app`: the jobs of an app, served by the command. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { runCli } from '../support/cli-process.ts'
import { commandServers } from './command-servers.ts'
import { callApi, keys } from './jobs-api/scene.ts'

const academy = fileURLToPath(new URL('./jobs-api/academy.ts', import.meta.url))
const library = new URL('../../src/index.ts', import.meta.url).href

const servers = commandServers('serve-app')
const { serve } = servers

async function moduleWith(code: string): Promise<string> {
  const file = `${servers.fresh('app')}.ts`
  await writeFile(file, code.replace('millrace', library))
  return file
}

const ocr = { type: 'OCR', payload: { examId: 'e-1' } }
const credentials = {
  MILLRACE_API_KEYS: `root:admin:${keys.admin}, alice:user:${keys.alice}`,
  MILLRACE_JWT_SECRET: '',
}

describe('an app that the command serves', () => {
  test('takes jobs of everybody on this machine when there are no credentials', async () => {
    const { url } = await serve(['--app', academy])
    const answer = await callApi(url, '/jobs/basic', { method: 'POST', body: ocr })
    assert.equal(answer.status, 202)
    const { body } = await callApi(url, `/jobs/${answer.body.job_id}`, {})
    assert.deepEqual(body.payload, ocr.payload)
    assert.equal((await callApi(url, '/readyz', {})).status, 200)
  })

  test('takes its settings and credentials from the environment', async () => {
    const env = { ...credentials, MILLRACE_APP: academy, MILLRACE_USER_QUEUES: 'mail' }
    const { url } = await serve([], env)
    assert.equal((await callApi(url, '/jobs', {})).status, 401)
    assert.equal((await callApi(url, '/jobs', { key: keys.alice })).status, 200)
    const body = { payload: { to: 'carol' } }
    const sent = await callApi(url, '/jobs/mail', { key: keys.alice, method: 'POST', body })
    assert.equal(sent.status, 202)
  })

  test('may be reached from other machines once there are credentials', async () => {
    const { url } = await serve(['--app', academy, '--host', '0.0.0.0'], credentials)
    const reachable = url.replace('0.0.0.0', '127.0.0.1')
    assert.equal((await callApi(reachable, '/jobs', { key: keys.admin })).status, 200)
  })

  test('writes a line of JSON on stderr for each request but the probes, and none on stdout', async () => {
    const { server, url } = await serve(['--app', academy], credentials)
    for (const path of ['/healthz', '/readyz', '/jobs?owner=private']) {
      await callApi(url, path, { key: keys.admin })
    }
    server.kill('SIGTERM')
    const { code, stdout, stderr } = await server.ended
    assert.equal(code, 0)
    assert.ok(stdout.trimEnd().endsWith('Press Ctrl-C to stop.'))
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ msg, route, status, caller }) => [msg, route, status, caller]),
      [['request', '/jobs', 200, 'root']],
    )
    assert.ok(!stderr.includes('private') && !stderr.includes(keys.admin))
  })

  test('is the default export, or the only app among the exports', async () => {
    const declare = "import { defineApp, queue } from 'millrace'\n"
    const one = "defineApp('one', { queues: { a: queue() } })"
    for (const code of [
      `export default ${one}`,
      `export const other = 1\nexport const app = ${one}`,
      `export default 'text'\nexport const app = ${one}\nexport const same = app`,
    ]) {
      const { url } = await serve(['--app', await moduleWith(declare + code)])
      assert.deepEqual((await callApi(url, '/jobs', {})).body, { jobs: [], next: null })
    }
  })

  test.each([
    [
      'lies nowhere',
      undefined,
      /Cannot load the app from .*missing\.ts: the file does not exist$/m,
    ],
    ['exports no app', 'export const app = { name: 1 }', /must export one app.*it has none/],
    [
      'exports two apps',
      "import { defineApp, queue } from 'millrace'\n" +
        "export const one = defineApp('one', { queues: { a: queue() } })\n" +
        "export const two = defineApp('two', { queues: { a: queue() } })",
      /must export one app.*it has 2/,
    ],
    ['does not run', "throw new Error('no database')", /Cannot load the app from .*no database/],
    [
      'declares something wrong',
      "import { defineApp } from 'millrace'\nexport default defineApp('', { queues: {} })",
      /Cannot load the app from/,
    ],
  ])('that %s is refused in one line', async (_name, code, line) => {
    const file = code === undefined ? servers.file('missing.ts') : await moduleWith(code)
    const data = servers.fresh('data')
    const ended = await runCli(['serve', '--port', '0', '--data', data, '--app', file])
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, line)
    assert.equal(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr)
  })

  test.each([
    ['MILLRACE_API_KEYS', 'root:admin:'],
    ['MILLRACE_API_KEYS', `root:emperor:${keys.admin}`],
    ['MILLRACE_API_KEYS', 'root:admin:too-short'],
    ['MILLRACE_JWT_SECRET', 'too-short'],
    ['MILLRACE_JWT_PUBLIC_KEY', 'no-key'],
  ])('is not served with %s=%s, and the value is not repeated', async (name, value) => {
    const args = ['serve', '--port', '0', '--data', servers.fresh('data')]
    const ended = await runCli([...args, '--app', academy], { [name]: value })
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, /^error: /)
    const secret = value.split(':').at(-1) ?? ''
    assert.ok(secret === '' || !ended.stderr.includes(secret), ended.stderr)
  })
})

describe('the log level', () => {
  test('may be silence, and an empty variable counts as none', async () => {
    for (const [level, lines] of [
      ['silent', 0],
      ['', 1],
    ] as const) {
      const { server, url } = await serve(['--app', academy], { MILLRACE_LOG: level })
      await callApi(url, '/jobs', {})
      server.kill('SIGTERM')
      const { stderr } = await server.ended
      assert.equal(stderr.split('\n').length - 1, lines, stderr)
    }
  })

  test('must be one that exists', async () => {
    const { code, stderr } = await runCli(['serve', '--log', 'loud'])
    assert.equal(code, 2)
    assert.match(stderr, /Use one of debug, info, warn, error, silent/)
  })
})

describe('a server without an app', () => {
  test('says so about jobs, and lists what is there', async () => {
    const { url } = await serve([])
    for (const path of ['/jobs', '/jobs/basic']) {
      const { status, body } = await callApi(url, path, {})
      assert.deepEqual([status, body.code], [404, 'no_app'])
      assert.match(body.detail, /without an app/)
    }
    const { body } = await callApi(url, '/openapi.json', {})
    assert.deepEqual(Object.keys(body.paths).sort(), [
      '/alarms',
      '/alarms/{name}',
      '/alarms/{name}/history',
      '/alarms/{name}/state',
      '/budgets',
      '/budgets/{name}',
      '/budgets/{name}/reset',
      '/budgets/{name}/resets',
      '/budgets/{name}/spend',
      '/healthz',
      '/inbox/{queue}',
      '/inbox/{queue}/claim',
      '/inbox/{queue}/{id}',
      '/inbox/{queue}/{id}/note',
      '/inbox/{queue}/{id}/release',
      '/inbox/{queue}/{id}/renew',
      '/inbox/{queue}/{id}/resolve',
      '/jobs/{id}/complete',
      '/jobs/{id}/extend',
      '/jobs/{id}/fail',
      '/jobs/{id}/progress',
      '/metrics',
      '/metrics/per-queue',
      '/openapi.json',
      '/queues/{queue}/metrics',
      '/readyz',
    ])
  })
})

describe('a server without credentials', () => {
  test.each([
    ['names another host, as a page under a name of its own does', { host: 'evil.test' }],
    ['comes from another site', { 'sec-fetch-site': 'cross-site' }],
    ['comes from another port of this machine', { 'sec-fetch-site': 'same-site' }],
    ['was sent by a page of somebody else', { origin: 'https://evil.test' }],
  ])('refuses a request that %s', async (_name, headers) => {
    const { url } = await serve(['--app', academy])
    assert.equal(await statusOf(`${url}/jobs`, headers), 403)
    assert.equal(await statusOf(`${url}/jobs`, { 'sec-fetch-site': 'same-origin' }), 200)
    assert.equal(await statusOf(`${url}/jobs`, { host: 'localhost:4566' }), 200)
    assert.equal(await statusOf(`${url}/jobs`, { host: '[::1]:4566' }), 200)
    assert.equal(await statusOf(`${url}/jobs`, { origin: 'http://localhost:3000' }), 200)
  })
})

/** Not by `fetch`, which sets these headers itself. */
function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.once('error', reject)
    sent.end()
  })
}
