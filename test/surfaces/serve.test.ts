import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { type Ended, runCli, startCli } from '../support/cli-process.ts'
import { commandServers } from './command-servers.ts'

const servers = commandServers('serve')
const { serve } = servers

async function get(url: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url)
  return { status: response.status, body: await response.json() }
}

/** A refusal is one line for people, without a stack. */
function assertRefused(ended: Ended, expected: { code: number; line: RegExp }): void {
  assert.equal(ended.code, expected.code, ended.stderr)
  assert.match(ended.stderr, expected.line)
  assert.equal(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr)
  assert.equal(ended.stdout, '')
}

describe('a served store', () => {
  test('answers that it is alive and ready', async () => {
    const { url } = await serve()
    const { version } = JSON.parse(await readFile('package.json', 'utf8'))
    assert.deepEqual(await get(`${url}/healthz`), { status: 200, body: { status: 'ok', version } })
    assert.deepEqual(await get(`${url}/readyz?verbose=1`), { status: 200, body: { status: 'ok' } })
  })

  test('answers a health check that asks for no body', async () => {
    const { url } = await serve()
    const response = await fetch(`${url}/healthz`, { method: 'HEAD' })
    assert.equal(response.status, 200)
    assert.equal(await response.text(), '')
  })

  test('ends with an error when its files are removed', async () => {
    const { server, data } = await serve()
    await rm(data, { recursive: true })
    const { code, stderr } = await server.ended
    assert.equal(code, 1)
    assert.match(stderr, /error: .*millrace\.db was removed, moved or replaced/)
  })

  test('has nothing elsewhere', async () => {
    const { url } = await serve()
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/healthz/'],
      ['POST', '/healthz'],
      ['DELETE', '/nothing'],
    ] as const) {
      const response = await fetch(url + path, { method })
      const body = (await response.json()) as { code: string }
      assert.equal(response.status, 404, `${method} ${path}`)
      assert.equal(body.code, 'not_found')
    }
  })

  test('says where it is, where its data is, and what AWS clients need', async () => {
    const { server, url, data } = await serve()
    await server.output(/Ctrl-C/)
    server.kill('SIGTERM')
    const { stdout } = await server.ended
    const lines = stdout.split('\n').map((line) => line.trim())
    for (const line of [
      `Data: ${data}`,
      `export AWS_ENDPOINT_URL_SQS=${url}`,
      'export AWS_REGION=us-east-1',
      'export AWS_DEFAULT_REGION=us-east-1',
      'export AWS_ACCESS_KEY_ID=test',
      'export AWS_SECRET_ACCESS_KEY=test',
    ]) {
      assert.ok(lines.includes(line), `${line} is missing in ${stdout}`)
    }
  })

  test('takes its settings from the environment', async () => {
    const place = servers.file('from-environment')
    const env = { MILLRACE_HOST: 'localhost', MILLRACE_PORT: '0', MILLRACE_DATA: place }
    const server = servers.watch(startCli(['serve'], env))
    const [, url] = await server.output(/listening on (http:\/\/localhost:\d+)/)
    assert.equal((await get(`${url}/healthz`)).status, 200)
    await server.output(new RegExp(`^Data: ${place}$`, 'm'))
  })

  test('prefers a flag to the environment, and an empty variable counts as none', async () => {
    const { url } = await serve([], { MILLRACE_PORT: '1', MILLRACE_HOST: '' })
    assert.match(url, /^http:\/\/127\.0\.0\.1:/)
    assert.equal((await get(`${url}/healthz`)).status, 200)
  })
})

describe('stopping a server', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'on %s leaves a store that opens again',
    async (signal) => {
      const { server, url, data } = await serve()
      assert.equal((await get(`${url}/readyz`)).status, 200)
      server.kill(signal)
      const ended = await server.ended
      assert.deepEqual({ code: ended.code, signal: ended.signal }, { code: 0, signal: null })
      assert.equal(ended.stderr, '')
      const store = await openSqlite({ file: `${data}/millrace.db` })
      await store.check()
      await store.close()
    },
  )

  test('does not wait for clients that keep their connection without asking anything', async () => {
    const { server, url } = await serve()
    const idle = await connectTo(url)
    assert.equal((await get(`${url}/healthz`)).status, 200)
    server.kill('SIGTERM')
    assert.equal((await server.ended).code, 0)
    idle.destroy()
  })

  test('ends at once, and says so by its exit code, when it is asked again', async () => {
    const { server, url } = await serve()
    // A request that never becomes complete holds up the stop.
    const stuck = await connectTo(url)
    await new Promise<void>((resolve) => stuck.write('GET /healthz HTTP/1.1\r\n', () => resolve()))
    assert.equal((await get(`${url}/healthz`)).status, 200)
    server.kill('SIGINT')
    const asking = setInterval(() => server.kill('SIGINT'), 50)
    const { code } = await server.ended
    clearInterval(asking)
    assert.equal(code, 130)
    stuck.destroy()
  })
})

describe('a server that cannot start says why in one line', () => {
  test('when the port is taken', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const ended = await runCli(['serve', '--port', `${port}`, '--data', servers.file('busy')])
    other.close()
    assertRefused(ended, { code: 1, line: new RegExp(`port ${port}: another program is using`) })
  })

  test.each(['65536', '-1', '80.5', 'http', '0x50'])('when the port is %s', async (port) => {
    const line = /port.*Use a whole number from 0 to 65535/
    assertRefused(await runCli(['serve', `--port=${port}`]), { code: 2, line })
    assertRefused(await runCli(['serve'], { MILLRACE_PORT: port }), { code: 2, line })
  })

  test.each(['0.0.0.0', '::', '192.0.2.1', 'example.org'])(
    'when the address is %s, which others can reach',
    async (host) => {
      const ended = await runCli(['serve', '--host', host, '--data', servers.file('public')])
      assertRefused(ended, { code: 1, line: /Cannot listen on .* loopback/ })
    },
  )

  test('when the data directory is a file', async () => {
    const file = servers.file('a-file')
    await writeFile(file, '')
    assertRefused(await serveIn(file), { code: 1, line: /a-file.*not a directory/ })
  })

  test('when the data directory lies below a file', async () => {
    const file = servers.file('another-file')
    await writeFile(file, '')
    assertRefused(await serveIn(`${file}/below`), { code: 1, line: /not a directory/ })
  })

  test.runIf(process.platform === 'linux')(
    'when the data directory cannot be written, even by the superuser',
    async () => {
      assertRefused(await serveIn('/proc'), { code: 1, line: /cannot be opened in this directory/ })
      assertRefused(await serveIn('/proc/below'), { code: 1, line: /cannot be created/ })
    },
  )

  test('when the store is a file of another kind', async () => {
    const place = await dataWith((file) => writeFile(file, 'This is not a database.\n'.repeat(99)))
    assertRefused(await serveIn(place), { code: 1, line: /not a Millrace store/ })
  })

  test('when the store is a database of another program', async () => {
    const place = await dataWith((file) => execute(file, 'CREATE TABLE guests (name)'))
    assertRefused(await serveIn(place), { code: 1, line: /database of another program/ })
  })

  test('when the store is damaged', async () => {
    const place = await dataWith(async (file) => {
      await (await openSqlite({ file })).close()
      const bytes = await readFile(file)
      // The header stays, so that it still looks like a store; what lists its tables goes.
      await writeFile(file, bytes.fill(0xff, 100, 4096))
    })
    assertRefused(await serveIn(place), { code: 1, line: /damaged/ })
  })

  test('when the store was written by a newer version', async () => {
    const place = await dataWith(async (file) => {
      await (await openSqlite({ file })).close()
      execute(file, 'PRAGMA user_version = 9999')
    })
    assertRefused(await serveIn(place), { code: 1, line: /Upgrade Millrace/ })
  })
})

describe('the command line', () => {
  test('shows the variables beside their options', async () => {
    const { code, stdout } = await runCli(['serve', '--help'])
    assert.equal(code, 0)
    for (const name of ['MILLRACE_HOST', 'MILLRACE_PORT', 'MILLRACE_DATA']) {
      assert.ok(stdout.includes(name), stdout)
    }
  })

  test.each([
    [['serv'], /unknown command 'serv'/],
    [['serve', '--prot', '1'], /unknown option '--prot'/],
    [['serve', 'more'], /too many arguments/],
    [[], /Usage: millrace/],
  ])('refuses %j with exit code 2', async (args, message) => {
    const { code, stdout, stderr } = await runCli(args)
    assert.equal(code, 2)
    assert.match(stderr, message)
    assert.equal(stdout, '')
  })
})

function serveIn(directory: string): Promise<Ended> {
  return runCli(['serve', '--port', '0', '--data', directory])
}

/** A data directory whose store file was made by someone else. */
async function dataWith(make: (file: string) => void | Promise<void>): Promise<string> {
  const place = servers.fresh('data')
  await mkdir(place)
  await make(`${place}/millrace.db`)
  return place
}

function execute(file: string, sql: string): void {
  const db = new DatabaseSync(file)
  db.exec(sql)
  db.close()
}

async function connectTo(url: string): Promise<ReturnType<typeof connect>> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  // The server may reset what it no longer waits for.
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}
