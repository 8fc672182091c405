import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, onTestFinished, test } from 'vitest'
import { type RawClient, rawClient } from '../../test/support/raw-client.ts'
import { systemPorts, type Timers } from '../core/ports.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { type ConnectionOptions, connectionLimits } from './connection-limits.ts'
import { type Listener, listen } from './listen.ts'

interface Scene {
  readonly listener: Listener
  /** The answer that is held back at an address, once that was asked. */
  held(path: string): Promise<ServerResponse>
  client(): Promise<RawClient>
}

/** Answers with the address, except below /hold, where the test says when. */
async function listening(
  limits: ConnectionOptions = {},
  timers: Timers = systemPorts.timers,
): Promise<Scene> {
  const asked = new Map<string, ServerResponse>()
  const asking = new EventEmitter()
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    timers,
    limits,
    answer: ({ url = '' }, response) => {
      if (!url.startsWith('/hold')) response.end(`<${url}>`)
      else asking.emit('asked', asked.set(url, response))
    },
  })
  onTestFinished(() => listener.close())
  return {
    listener,
    async held(path) {
      for (;;) {
        const response = asked.get(path)
        if (response !== undefined) return response
        await once(asking, 'asked')
      }
    },
    async client() {
      const client = await rawClient(listener.url)
      onTestFinished(() => client.close())
      return client
    },
  }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

async function isServed({ client }: Scene): Promise<void> {
  const other = await client()
  other.write(get('/other'))
  await other.said(/<\/other>/)
}

describe('a client that does not read its answer', () => {
  /** Far more than the buffers of two sockets hold. */
  const pieces = 64
  const piece = Buffer.alloc(2 ** 20, 'x')

  async function flooded(): Promise<{ clock: VirtualClock; scene: Scene; client: RawClient }> {
    const clock = new VirtualClock()
    const scene = await listening({ readTimeout: { ms: 60_000 } }, clock)
    const client = await scene.client()
    client.socket.pause()
    client.write(get('/hold'))
    const response = await scene.held('/hold')
    const write = (left: number): void => {
      if (left === 0) response.end('the end')
      else if (response.write(piece)) write(left - 1)
      else response.once('drain', () => write(left - 1))
    }
    write(pieces)
    return { clock, scene, client }
  }

  test('is cut off after twice the time that it may take, while others are served', async () => {
    const { clock, scene } = await flooded()
    const response = await scene.held('/hold')
    const closed = once(response, 'close')
    await clock.advance(59_000)
    assert.equal(response.destroyed, false)
    await isServed(scene)
    await clock.advance(121_000)
    await closed
    await isServed(scene)
  })

  test('is left alone as long as it reads something now and then', async () => {
    const { clock, scene, client } = await flooded()
    const response = await scene.held('/hold')
    for (let looks = 0; looks < 5; looks += 1) {
      client.socket.resume()
      await once(response, 'drain')
      client.socket.pause()
      await clock.advance(60_000)
    }
    client.socket.resume()
    await once(response, 'finish')
  })
})

describe('a listener with as many connections as it may have', () => {
  test('lets go of the one that has been silent for longest', async () => {
    const scene = await listening({ connectionsMax: 2 })
    const [first, second] = [await scene.client(), await scene.client()]
    await isServed(scene)
    await first.cutOff()
    second.write(get('/second'))
    await second.said(/<\/second>/)
  })

  test('prefers one that never asked to one that rests between requests', async () => {
    const scene = await listening({ connectionsMax: 2 })
    const resting = await scene.client()
    resting.write(get('/a'))
    await resting.said(/<\/a>/)
    const silent = await scene.client()
    await isServed(scene)
    await silent.cutOff()
    resting.write(get('/b'))
    await resting.said(/<\/b>/)
  })

  test('closes an idle one when no connection is silent', async () => {
    const scene = await listening({ connectionsMax: 1 })
    const resting = await scene.client()
    resting.write(get('/a'))
    await resting.said(/<\/a>/)
    await isServed(scene)
    await resting.cutOff()
  })

  test('lets go of one whose request does not get finished', async () => {
    const scene = await listening({ connectionsMax: 1 })
    const slow = await scene.client()
    slow.write('POST /hold/slow HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc')
    await scene.held('/hold/slow')
    await isServed(scene)
    await slow.cutOff()
  })

  test('keeps those who wait for an answer, and turns newcomers away', async () => {
    const scene = await listening({ connectionsMax: 1 })
    const waiting = await scene.client()
    waiting.write(get('/hold/1'))
    const response = await scene.held('/hold/1')
    await (await scene.client()).cutOff()
    response.end('<answered>')
    await waiting.said(/<answered>/)
  })
})

describe('a connection with several requests at once', () => {
  test('gets its answers in the order of the requests', async () => {
    const scene = await listening()
    const client = await scene.client()
    client.write(get('/hold/1') + get('/2') + get('/hold/3') + get('/4'))
    const third = await scene.held('/hold/3')
    third.end('<third>')
    const first = await scene.held('/hold/1')
    first.end('<first>')
    const said = await client.said(/<\/4>/)
    const bodies = said.match(/<[^>]+>/g)
    assert.deepEqual(bodies, ['<first>', '</2>', '<third>', '</4>'])
  })

  test('is cut off when too many of them wait for an answer', async () => {
    const scene = await listening({ pipelinedMax: 10 })
    const modest = await scene.client()
    modest.write(Array.from({ length: 10 }, (_, at) => get(`/hold/${at}`)).join(''))
    const greedy = await scene.client()
    greedy.write(get('/hold/x').repeat(11))
    await greedy.cutOff()
    for (let at = 0; at < 10; at += 1) (await scene.held(`/hold/${at}`)).end('<done>')
    const said = await modest.said(/(?:<done>.*){10}/s)
    assert.equal(said.match(/200 OK/g)?.length, 10)
  })
})

describe('the limits of a listener', () => {
  test('are refused when a duration is out of range', () => {
    assert.throws(() => connectionLimits({ drain: '2h' }), {
      code: 'invalid_argument',
      message: 'connections.drain: got 2h, expected a duration, 1ms to 1h',
    })
  })

  test('are refused all together when they make no sense', () => {
    const given = {
      connectionsMax: 0,
      headersMax: 1.5,
      headersTimeout: { ms: 70_000 },
    }
    assert.throws(() => connectionLimits(given), {
      code: 'invalid_argument',
      message:
        /connections\.connectionsMax: got 0.*headersMax: got 1\.5.*headersTimeout: got 70s, expected at most connections\.requestTimeout, 1m$/s,
    })
  })
})
