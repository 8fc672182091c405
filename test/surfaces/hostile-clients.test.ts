import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { type ServeOptions, serve } from '../../src/server.ts'
import { drip, type RawClient, rawClient } from '../support/raw-client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { commandServers } from './command-servers.ts'

/** Short enough that a test can wait for the end of each. */
const impatient = {
  headersTimeout: { ms: 150 },
  requestTimeout: { ms: 300 },
  keepAliveTimeout: { ms: 100 },
  linger: { ms: 200 },
  checkInterval: { ms: 25 },
}

/** For requests that are refused, however long the machine takes to read them. */
const patient = { ...impatient, headersTimeout: { ms: 60_000 }, requestTimeout: { ms: 60_000 } }

interface Scene {
  readonly url: string
  client(): Promise<RawClient>
}

async function served(connections: ServeOptions['connections'] = impatient): Promise<Scene> {
  const folder = await temporaryFolder('hostile')
  const server = await serve({ port: 0, data: folder.path, connections })
  onTestFinished(async () => {
    await server.stop()
    await folder.remove()
  })
  return { url: server.url, client: () => clientOf(server.url) }
}

async function clientOf(url: string): Promise<RawClient> {
  const client = await rawClient(url)
  onTestFinished(() => client.close())
  return client
}

async function assertServesOthers(url: string): Promise<void> {
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  const headers = { 'x-amz-target': 'AmazonSQS.ListQueues', 'content-type': json }
  const answer = await fetch(url, { method: 'POST', headers, body: '{}' })
  assert.equal(answer.status, 200)
  assert.deepEqual(await answer.json(), {})
}

const json = 'application/x-amz-json-1.0'
const post = `POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Type: ${json}\r\n`
const health = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'

describe('a client that is slow', () => {
  test('in saying anything is cut off, while others are served', async () => {
    const { url, client } = await served()
    const silent = await client()
    await assertServesOthers(url)
    assert.match(await silent.cutOff(), /^(?:HTTP\/1\.1 408 |$)/)
  })

  test.each([
    ['its headers', 'GET /healthz HTTP/1.1\r\nX-Slow: ', 'a'],
    ['more and more headers', 'GET /healthz HTTP/1.1\r\n', 'X-Slow: a\r\n'],
    ['its address', 'GET /', 'a'],
    ['empty lines', '', '\r\n'],
  ])(
    'in sending %s is cut off, though it sends something all the time',
    async (_what, begin, piece) => {
      const { url, client } = await served()
      const slow = await client()
      slow.write(begin)
      drip(slow, piece, 10)
      await assertServesOthers(url)
      assert.match(await slow.cutOff(), /^(?:HTTP\/1\.1 408 |$)/)
    },
  )

  test.each([
    ['a body', 'Content-Length: 100000\r\n\r\n', '{'],
    ['a chunked body', 'Transfer-Encoding: chunked\r\n\r\n', '1\r\n{\r\n'],
    ['the length of a chunk', 'Transfer-Encoding: chunked\r\n\r\n', '0'],
  ])(
    'in sending %s is cut off, though it sends something all the time',
    async (_what, rest, piece) => {
      const { url, client } = await served()
      const slow = await client()
      slow.write(post + rest)
      drip(slow, piece, 10)
      await assertServesOthers(url)
      assert.match(await slow.cutOff(), /^(?:HTTP\/1\.1 4\d\d |$)/)
    },
  )

  test('in asking again is let go', async () => {
    const { client } = await served()
    const idle = await client()
    idle.write(`${health}\r\n`)
    assert.match(await idle.cutOff(), /^HTTP\/1\.1 200 OK/)
  })
})

describe('a client that sends too much', () => {
  test.each([
    ['a header of a megabyte', `${health}X-Large: ${'a'.repeat(2 ** 20)}\r\n\r\n`],
    ['an address of a megabyte', `GET /${'a'.repeat(2 ** 20)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['a hundred and one headers', `${health}${'X-Many: a\r\n'.repeat(100)}\r\n`],
  ])('is told so for %s', async (_what, request) => {
    const { url, client } = await served(patient)
    const greedy = await client()
    greedy.write(request)
    await greedy.said(/^HTTP\/1\.1 431 /)
    await assertServesOthers(url)
  })

  test('headers without end is cut off', async () => {
    const { url, client } = await served(patient)
    const greedy = await client()
    greedy.write(health)
    drip(greedy, `X-More: ${'a'.repeat(1_000)}\r\n`, 1)
    assert.match(await greedy.cutOff(), /^HTTP\/1\.1 431 /)
    await assertServesOthers(url)
  })

  test.each([
    ['SQS', post, /^HTTP\/1\.1 413 [\s\S]*RequestEntityTooLarge/],
    ['a health check', `${health}`, /^HTTP\/1\.1 200 /],
    ['nothing that is there', 'POST /nothing HTTP/1.1\r\nHost: localhost\r\n', /^HTTP\/1\.1 404 /],
  ])('a body without end to %s is answered and cut off', async (_where, begin, answer) => {
    const { url, client } = await served(patient)
    const endless = await client()
    endless.write(`${begin}Transfer-Encoding: chunked\r\n\r\n`)
    const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`
    const pour = (): void => {
      while (!endless.socket.destroyed && endless.socket.write(chunk, 'latin1'));
      if (!endless.socket.destroyed) endless.socket.once('drain', pour)
    }
    pour()
    await endless.said(answer)
    await endless.cutOff()
    await assertServesOthers(url)
  })

  test('a body that is declared larger than it may be is told so at once', async () => {
    const { client } = await served(patient)
    const greedy = await client()
    greedy.write(`${post}Content-Length: ${2 ** 40}\r\n\r\n`)
    await greedy.said(/^HTTP\/1\.1 413 [\s\S]*RequestEntityTooLarge/)
  })
})

describe('a client that lies about its body', () => {
  test('is cut off when less comes than was said', async () => {
    const { url, client } = await served()
    const liar = await client()
    liar.write(`${post}Content-Length: 10\r\n\r\n{}`)
    await assertServesOthers(url)
    assert.match(await liar.cutOff(), /^HTTP\/1\.1 408 /)
  })

  test('has its request refused when it leaves before the end', async () => {
    const { url, client } = await served()
    const liar = await client()
    liar.write(`${post}Content-Length: 10\r\n\r\n{}`)
    liar.socket.end()
    assert.doesNotMatch(await liar.cutOff(), /^HTTP\/1\.1 200 /)
    await assertServesOthers(url)
  })

  test('gets no answer to what it smuggles behind the body', async () => {
    const { client } = await served(patient)
    const liar = await client()
    liar.write(`${post}Content-Length: 2\r\n\r\n{}garbage that is no request\r\n\r\n`)
    const said = await liar.cutOff()
    assert.match(said, /HTTP\/1\.1 400 Bad Request/)
    assert.ok((said.match(/HTTP\/1\.1 200/g) ?? []).length <= 1, said)
  })

  test.each([
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} '],
    [
      'a length and chunks',
      'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
    ['a negative length', 'Content-Length: -1\r\n\r\n{}'],
    ['a length that is no number', 'Content-Length: 0x2\r\n\r\n{}'],
    ['a length beyond all numbers', `Content-Length: ${'9'.repeat(30)}\r\n\r\n{}`],
    [
      'a chunk of a length beyond all numbers',
      `Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(30)}\r\n{}`,
    ],
    [
      'a chunk that is longer than it says',
      'Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n',
    ],
    [
      'an encoding that nobody knows',
      'Transfer-Encoding: chunked, magic\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
  ])('is refused for %s', async (_what, rest) => {
    const { url, client } = await served(patient)
    const liar = await client()
    liar.write(post + rest)
    assert.match(await liar.cutOff(), /^HTTP\/1\.1 400 /)
    await assertServesOthers(url)
  })
})

describe('many clients at once', () => {
  const servers = commandServers('crowd')

  test('that only hold a connection do not keep others from being served', async () => {
    const { url } = await servers.serve()
    const idle = await Promise.all(Array.from({ length: 2_000 }, () => clientOf(url)))
    assert.equal(idle.filter(({ socket }) => !socket.destroyed).length, 2_000)
    await assertServesOthers(url)
  })

  test('more than there may be make room, the oldest first', async () => {
    const { url } = await served({ connectionsMax: 50 })
    const first = await clientOf(url)
    for (let at = 0; at < 2_000; at += 50) {
      await Promise.all(Array.from({ length: 50 }, () => clientOf(url)))
    }
    await first.cutOff()
    await assertServesOthers(url)
  })

  test('in the middle of their requests do not keep others from being served', async () => {
    const { url } = await served({ connectionsMax: 50 })
    const stuck = await Promise.all(Array.from({ length: 200 }, () => clientOf(url)))
    for (const client of stuck) client.write(`${post}Content-Length: 10\r\n\r\n{`)
    await assertServesOthers(url)
  })
})
