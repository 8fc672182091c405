import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, onTestFinished, test } from 'vitest'
import { type Address, createWebhook, type WebhookCall } from './webhook.ts'

interface Received {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

interface Listener {
  readonly port: number
  readonly received: Received[]
  /** How many connections were opened, also such as never asked for anything. */
  connections(): number
}

async function listen(
  answer: (response: ServerResponse, path: string) => void = (response) => void response.end('ok'),
): Promise<Listener> {
  const received: Received[] = []
  let connections = 0
  const server = createServer(async (request, response) => {
    const { method, url: path, headers } = request
    received.push({ method, path, headers, body: await text(request) })
    answer(response, path ?? '')
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, received, connections: () => connections }
}

const loopback: Address = { address: '127.0.0.1', family: 4 }

interface Posting extends Partial<WebhookCall> {
  readonly allowPrivate?: boolean
  readonly addresses?: readonly Address[]
}

async function post(url: string, posting: Posting = {}): Promise<void> {
  const { allowPrivate = true, addresses, ...call } = posting
  const webhook = createWebhook({
    allowPrivate,
    userAgent: 'millrace/test',
    ...(addresses !== undefined && { resolve: async () => addresses }),
  })
  const signal = new AbortController().signal
  await webhook({ url, body: '{"a":1}', headers: {}, signal, ...call })
}

describe('a webhook', () => {
  test('is posted JSON, once', async () => {
    const { port, received } = await listen()
    await post(`http://127.0.0.1:${port}/hook?x=1`, { headers: { 'millrace-attempt': '2' } })
    assert.equal(received.length, 1)
    const { method, path, headers, body } = received[0] as Received
    assert.deepEqual([method, path, body], ['POST', '/hook?x=1', '{"a":1}'])
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(headers['content-length'], '7')
    assert.equal(headers['user-agent'], 'millrace/test')
    assert.equal(headers['millrace-attempt'], '2')
    assert.equal(headers.host, `127.0.0.1:${port}`)
  })

  test.each([200, 204, 299])('has taken it when it answers %i', async (status) => {
    const { port } = await listen((response) => void response.writeHead(status).end())
    await post(`http://127.0.0.1:${port}/`)
  })

  test.each([300, 304, 400, 404, 429, 500, 503])('has not when it answers %i', async (status) => {
    const { port } = await listen((response) => void response.writeHead(status).end())
    await assert.rejects(post(`http://127.0.0.1:${port}/`), {
      message: `The receiver responded with status ${status}.`,
    })
  })

  test('is not followed to where it redirects', async () => {
    const { port, received } = await listen((response, path) => {
      if (path === '/moved') response.writeHead(307, { location: '/secret' }).end()
      else response.end()
    })
    await assert.rejects(post(`http://127.0.0.1:${port}/moved`), { message: /status 307/ })
    assert.deepEqual(
      received.map(({ path }) => path),
      ['/moved'],
    )
  })

  test('is not listened to beyond its status', async () => {
    const closed = Promise.withResolvers<void>()
    const { port } = await listen((response) => {
      response.writeHead(200)
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(65_536), more)
      }
      response.on('close', closed.resolve)
      more()
    })
    await post(`http://127.0.0.1:${port}/`)
    await closed.promise
  })

  test('that would speak another protocol has not taken it', async () => {
    const { port } = await listen((response) => {
      response.socket?.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n',
      )
    })
    await assert.rejects(post(`http://127.0.0.1:${port}/`), {
      message: 'The connection closed without a response.',
    })
  })

  test('is aborted by its signal, at any point', async () => {
    const { port } = await listen(() => undefined)
    const controller = new AbortController()
    const posted = post(`http://127.0.0.1:${port}/`, { signal: controller.signal })
    controller.abort()
    await assert.rejects(posted)
    const unresolved = createWebhook({
      ...{ allowPrivate: true, userAgent: 'test', resolve: () => new Promise(() => undefined) },
    })
    const again = new AbortController()
    const waiting = unresolved({
      ...{ url: 'http://slow.example/', body: '{}', headers: {}, signal: again.signal },
    })
    again.abort()
    await assert.rejects(waiting, { message: /Resolving the host name took too long/ })
  })

  test('that is not there is an error', async () => {
    const { port } = await listen()
    await assert.rejects(post(`http://127.0.0.1:${port === 1 ? 2 : 1}/`))
    await assert.rejects(post('http://none.example/', { addresses: [] }), {
      message: 'The host name has no address.',
    })
  })
})

describe('an address that is not of the open internet', () => {
  test.each([
    ['IPv4', '127.0.0.1'],
    ['another way to write it', '127.1'],
    ['as a number', '2130706433'],
    ['in hexadecimal', '0x7f.0.0.1'],
    ['in octal', '0177.0.0.1'],
    ['the unspecified address', '0.0.0.0'],
    ['IPv6', '[::1]'],
    ['IPv4 mapped to IPv6', '[::ffff:127.0.0.1]'],
    ['the same in hexadecimal', '[::ffff:7f00:1]'],
    ['the name of this machine', 'localhost'],
  ])('is not connected to: %s', async (_what, host) => {
    const { port, connections } = await listen()
    await assert.rejects(post(`http://${host}:${port}/`, { allowPrivate: false }), {
      message: 'The address is not a public internet address.',
    })
    assert.equal(connections(), 0)
  })

  test.each<[string, readonly Address[]]>([
    ['loopback', [loopback]],
    ['the link', [{ address: '169.254.169.254', family: 4 }]],
    ['loopback, mapped', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['a public address and loopback', [{ address: '8.8.8.8', family: 4 }, loopback]],
    ['loopback and a public address', [loopback, { address: '2606:4700::1', family: 6 }]],
  ])('is not connected to by a name that means %s', async (_what, addresses) => {
    const { port, connections } = await listen()
    const url = `http://innocent.example:${port}/`
    await assert.rejects(post(url, { allowPrivate: false, addresses }), {
      message: 'The address is not a public internet address.',
    })
    assert.equal(connections(), 0)
  })

  test('is reached when it is allowed, and only by the address that was looked at', async () => {
    const { port, received } = await listen()
    let asked = 0
    const resolve = async (): Promise<readonly Address[]> => {
      asked += 1
      // A name that means something else when it is asked again.
      return asked === 1 ? [loopback] : [{ address: '127.0.0.2', family: 4 }]
    }
    const webhook = createWebhook({ allowPrivate: true, userAgent: 'test', resolve })
    const { signal } = new AbortController()
    const url = `http://rebound.example:${port}/`
    await webhook({ url, body: '{}', headers: {}, signal })
    assert.equal(asked, 1)
    assert.equal(received[0]?.headers.host, `rebound.example:${port}`)
  })
})

describe('a target that makes no sense is refused', () => {
  test.each([
    ['no address', 'nonsense', /https:\/\/host\/path/],
    ['a file', 'file:///etc/passwd', /https:\/\/host\/path/],
    ['another protocol', 'ftp://example.com/', /https:\/\/host\/path/],
    ['credentials', 'https://user:secret@example.com/', /credentials/],
  ])('%s', async (_what, url, message) => {
    await assert.rejects(post(url), (error: Error) => {
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /secret|passwd/)
      return true
    })
  })

  test('a body that is no notification', async () => {
    const { port, connections } = await listen()
    const body = 'x'.repeat(65_537)
    await assert.rejects(post(`http://127.0.0.1:${port}/`, { body }), /65537 bytes/)
    assert.equal(connections(), 0)
  })
})
