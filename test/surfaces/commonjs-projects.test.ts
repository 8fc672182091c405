/** Projects with `"type": "commonjs"` in their package.json, which is what `npm init -y` writes. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { describe, onTestFinished, test } from 'vitest'
import { runCli, startCli } from '../support/cli-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { commandServers } from './command-servers.ts'
import { callApi } from './jobs-api/scene.ts'

const library = new URL('../../src/index.ts', import.meta.url).href
const { serve, fresh } = commandServers('commonjs')

const serverless = `service: shop
provider: { name: aws, runtime: nodejs24.x }
functions:
  module: { handler: src/module.handler, events: [{ httpApi: 'GET /module' }] }
  script: { handler: src/script.handler, events: [{ httpApi: 'GET /script' }] }
  built: { handler: src/built.handler, events: [{ httpApi: 'GET /built' }] }
`

const files: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "shop", "type": "commonjs" }',
  'serverless.yml': serverless,
  // As bundlers take it: with and without an extension.
  'src/module.ts': `import { greeting } from './greeting'
import { sign } from './sign.js'
const name: string = await Promise.resolve('module')
export const handler = async () => ({ statusCode: 200, body: greeting(name) + sign })
`,
  'src/greeting.ts': "export function greeting(name: string): string { return 'hello ' + name }\n",
  'src/sign.ts': "exports.sign = '!' as string\n",
  'src/script.ts': `import type { Greeting } from './types.ts'
const text: Greeting = \`hello
export const script\`
module.exports = { handler: async () => ({ statusCode: 200, body: text }) }
`,
  'src/types.ts': 'export type Greeting = string\n',
  'src/built.js': "export const handler = async () => ({ statusCode: 200, body: 'built' })\n",
  'app.ts': `import { defineApp, queue } from '${library}'
import { queueName } from './names.ts'
export default defineApp('shop', { queues: { [queueName]: queue() } })
`,
  'names.ts': "export const queueName: string = 'orders'\n",
  'app.js': `import { defineApp } from '${library}'\nexport default defineApp('shop', { queues: {} })\n`,
}

async function project(): Promise<(name: string) => string> {
  const folder = await temporaryFolder('commonjs')
  onTestFinished(() => folder.remove())
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(folder.file(name)), { recursive: true })
    await writeFile(folder.file(name), text)
  }
  return folder.file
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

describe('a project of the type commonjs', () => {
  test('has its TypeScript functions with import and export run by dev', async () => {
    const file = await project()
    const port = await freePort()
    const flags = ['--port', '0', '--api-port', `${port}`, '--data', fresh('data')]
    const dev = startCli(['dev', file('serverless.yml'), ...flags])
    onTestFinished(() => dev.kill('SIGKILL'))
    await dev.output(/AWS_SECRET_ACCESS_KEY/)
    const bodyOf = async (path: string): Promise<string> =>
      (await fetch(`http://127.0.0.1:${port}/${path}`)).text()
    assert.equal(await bodyOf('module'), 'hello module!')
    assert.equal(await bodyOf('script'), 'hello\nexport const script')
    // As on AWS, where the file is not built either.
    assert.match(await bodyOf('built'), /Internal Server Error/)
    await dev.notice(
      /built.*Unexpected token 'export'.*Set \\"type\\": \\"module\\" in its package\.json/,
    )
    dev.kill('SIGTERM')
    assert.doesNotMatch((await dev.ended).stderr, /ExperimentalWarning/)
  })

  test('has its app in TypeScript served', async () => {
    const file = await project()
    const { url } = await serve(['--app', file('app.ts')])
    assert.deepEqual((await callApi(url, '/jobs', {})).body, { jobs: [], next: null })
  })

  test('gets a line that says what to change for an app in JavaScript', async () => {
    const file = await project()
    const flags = ['--port', '0', '--data', fresh('data')]
    const { code, stderr } = await runCli(['serve', ...flags, '--app', file('app.js')])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^error: Cannot load the app from .*app\.js: .*Set "type": "module" in its package\.json, or rename it to \.mjs/m,
    )
  })
})
