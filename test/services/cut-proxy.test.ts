import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Client } from 'pg'
import { describe, onTestFinished, test } from 'vitest'
import { type RawClient, rawClient } from '../support/raw-client.ts'
import { type CutProxy, startCutProxy } from './cut-proxy.ts'
import { freshDatabase } from './fresh-database.ts'
import { query } from './query.ts'

describe('a proxy that cuts', () => {
  test('forwards in both directions and counts the bytes', async () => {
    const { proxy, client } = await echoThroughProxy()
    client.write('seven b')
    assert.equal(await client.said(/seven b$/), 'seven b')
    client.socket.end('!')
    assert.equal(await client.cutOff(), 'seven b!')
    assert.deepEqual(proxy.bytes, { toServer: 8, toClient: 8 })
  })

  test('cuts all connections now, and accepts new ones', async () => {
    const { proxy, client } = await echoThroughProxy()
    const other = await connected(proxy)
    client.write('a')
    other.write('b')
    await Promise.all([client.said(/a/), other.said(/b/)])
    proxy.cut()
    assert.equal(await client.cutOff(), 'a')
    assert.equal(await other.cutOff(), 'b')
    const next = await connected(proxy)
    next.write('c')
    assert.equal(await next.said(/c/), 'c')
  })

  test.each([1, 4, 5])('cuts after %i bytes to the server', async (bytes) => {
    const { proxy, client, received } = await echoThroughProxy()
    const cut = proxy.cutAfter(bytes, 'toServer')
    client.write('01234')
    await cut
    await client.cutOff()
    assert.equal(await received, '01234'.slice(0, bytes))
    assert.equal(proxy.bytes.toServer, bytes)
  })

  test.each([0, 1, 4, 5])('cuts after %i bytes to the client', async (bytes) => {
    const { proxy, client, received } = await echoThroughProxy()
    const cut = proxy.cutAfter(bytes, 'toClient')
    client.write('01234')
    await cut
    assert.equal(await client.cutOff(), '01234'.slice(0, bytes))
    assert.equal(await received, '01234')
    assert.equal(proxy.bytes.toClient, bytes)
  })

  test('counts the bytes of several writes', async () => {
    const { proxy, client, received } = await echoThroughProxy()
    const cut = proxy.cutAfter(3, 'toServer')
    client.write('ab')
    await client.said(/ab/)
    client.write('cd')
    await cut
    assert.equal(await received, 'abc')
  })

  test('delays the traffic', async () => {
    const { proxy, client } = await echoThroughProxy()
    proxy.delay(30)
    const startedMs = performance.now()
    client.write('a')
    await client.said(/a/)
    // Timers may fire a fraction of a millisecond early.
    assert.ok(performance.now() - startedMs > 58)
  })

  test('holds the traffic until it is released', async () => {
    const { proxy, client, serverPort } = await echoThroughProxy()
    client.write('a')
    await client.said(/a/)
    proxy.hold()
    client.write('b')
    // Besides the proxy, the server replies. By then the byte would have reached it.
    const direct = await connected({ port: serverPort })
    direct.write('c')
    await direct.said(/c/)
    assert.deepEqual(proxy.bytes, { toServer: 1, toClient: 1 })
    proxy.release()
    assert.equal(await client.said(/ab/), 'ab')
  })

  test('refuses new connections and accepts them again, and keeps the old ones', async () => {
    const { proxy, client } = await echoThroughProxy()
    proxy.refuse()
    await assert.rejects(connected(proxy), { code: 'ECONNREFUSED' })
    client.write('a')
    assert.equal(await client.said(/a/), 'a')
    await proxy.accept()
    const other = await connected(proxy)
    other.write('b')
    assert.equal(await other.said(/b/), 'b')
  })

  test('closes the connection if the server is not there', async () => {
    const { proxy, closeServer } = await echoThroughProxy()
    await closeServer()
    const other = await connected(proxy)
    assert.equal(await other.cutOff(), '')
  })

  test('lets a commit reach Postgres and loses the reply', async () => {
    const { url } = await freshDatabase()
    await query(url, 'CREATE TABLE sent (value int)')
    const proxy = await proxyTo(Number(new URL(url).port))
    const client = new Client(proxy.url(url))
    client.on('error', () => {})
    await client.connect()
    await client.query('BEGIN; INSERT INTO sent VALUES (1)')
    const cut = proxy.cutAfter(0, 'toClient')
    await assert.rejects(client.query('COMMIT'), /Connection terminated/)
    await cut
    assert.deepEqual(await query(url, 'TABLE sent'), [{ value: 1 }])
  })
})

interface EchoScene {
  readonly proxy: CutProxy
  readonly serverPort: number
  readonly client: RawClient
  /** All that the server received on its first connection, once that has ended. */
  readonly received: Promise<string>
  closeServer(): Promise<void>
}

async function echoThroughProxy(): Promise<EchoScene> {
  const { promise: received, resolve } = Promise.withResolvers<string>()
  const server = createServer((socket) => {
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      socket.write(chunk)
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: serverPort } = server.address() as AddressInfo
  const proxy = await proxyTo(serverPort)
  const client = await connected(proxy)
  const closeServer = async (): Promise<void> => {
    if (!server.listening) return
    proxy.cut()
    server.close()
    await once(server, 'close')
  }
  onTestFinished(closeServer)
  return { proxy, serverPort, client, received, closeServer }
}

async function proxyTo(port: number): Promise<CutProxy> {
  const proxy = await startCutProxy(port)
  onTestFinished(() => proxy.close())
  return proxy
}

async function connected({ port }: { readonly port: number }): Promise<RawClient> {
  const client = await rawClient(`http://127.0.0.1:${port}`)
  onTestFinished(() => client.close())
  return client
}
