import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { Carrier, CarrierDelivery } from '../../../src/backends/carriers/carrier.ts'
import { startCutProxy } from '../../services/cut-proxy.ts'
import { type RedisServer, startRedisServer } from '../../services/redis-server.ts'
import { eventually, message, queue, receive, receiveOne, scene, send, tracked } from './scene.ts'

const typed = /^carrier_(?:unreachable|failed)$/

describe('a carrier on BullMQ', () => {
  test('goes on when Redis was stopped and started while a receive waited', async () => {
    await using server = await startRedisServer({ durable: true })
    const { carrier, notices } = await scene({ connection: server.url })
    await send(carrier, 'kept')
    const waiting = receiveUntil(carrier, 2)
    await eventually(async () => assert.equal((await carrier.levels({ queue })).leased, 1))
    await server.stop('fast')
    await assert.rejects(send(carrier, 'lost'), { code: 'carrier_unreachable' })
    await server.start()
    await eventually(() => send(carrier, 'after'))
    assert.deepEqual(
      (await waiting).map(({ body }) => body),
      ['kept', 'after'],
    )
    assert.deepEqual(
      notices.map((notice) => /was lost|works again/.exec(notice)?.[0]),
      ['was lost', 'works again'],
    )
  })

  test.each(['fast', 'immediate'] as const)(
    'loses no acknowledged message when Redis is stopped (%s) while many are sent',
    async (mode) => {
      await using server = await startRedisServer({ durable: true })
      const { carrier } = await scene({ connection: server.url })
      const acknowledged = await sendUntilStopped(carrier, server, mode)
      await server.start()
      const seen = new Set<string>()
      await eventually(async () => {
        for (const { body } of await receive(carrier, { max: 100 })) seen.add(body)
        assert.deepEqual(
          acknowledged.filter((body) => !seen.has(body)),
          [],
        )
      })
    },
  )

  test('rejects every call at once, typed, when its connection is cut', async () => {
    await using server = await startRedisServer()
    const proxy = await startCutProxy(server.port)
    onTestFinished(() => proxy.close())
    const { carrier } = await scene({ connection: proxy.url(server.url) })
    await send(carrier, '1')
    const { handle } = await receiveOne(carrier)
    const waiting = receive(carrier, { waitMs: 60_000 })
    await carrier.levels({ queue })
    const calls = [
      () => send(carrier, '2'),
      () => carrier.levels({ queue }),
      () => carrier.extend({ queue, leases: [{ handle, visibilityMs: 1_000 }] }),
      () => carrier.remove({ queue, messages: [{ handle }] }),
      () => carrier.release({ queue, messages: [{ handle, delayMs: 1 }] }),
      () => carrier.peek({ queue, state: 'ready', limit: 1 }),
      () => carrier.check(),
      () => receive(carrier),
    ]
    proxy.refuse()
    proxy.cut()
    for (const call of calls) await assert.rejects(call, { code: 'carrier_unreachable' })
    await assert.rejects(waiting, { code: 'carrier_unreachable' })
    await proxy.accept()
    await eventually(() => carrier.check())
    assert.deepEqual(await carrier.remove({ queue, messages: [{ handle }] }), [true])
  })

  test('gives up on a network that has failed silently, and connects again', async () => {
    await using server = await startRedisServer()
    const proxy = await startCutProxy(server.port)
    onTestFinished(() => proxy.close())
    const { carrier } = await scene({ connection: proxy.url(server.url) })
    proxy.hold()
    await assert.rejects(send(carrier, '1'), { code: 'carrier_unreachable' })
    proxy.release()
    await eventually(() => send(carrier, '2'))
  })

  test('reports that Redis is full, and still settles', async () => {
    await using server = await startRedisServer({ maxmemory: '3mb' })
    const { carrier } = await scene({ connection: server.url })
    await send(carrier, 'x'.repeat(50_000), 'x'.repeat(50_000))
    const leased = [await receiveOne(carrier), await receiveOne(carrier)]
    const [first, second] = leased.map(({ handle }) => ({ handle }))
    const error = await fill(carrier)
    assert.match(error.message, /its memory is full/)
    assert.equal(error.retryable, true)
    assert.deepEqual(await carrier.remove({ queue, messages: [first ?? { handle: '' }] }), [true])
    await carrier.purge({ queue })
    assert.deepEqual(await carrier.remove({ queue, messages: [second ?? { handle: '' }] }), [false])
    await eventually(() => send(carrier, 'again'))
    assert.equal((await receiveOne(carrier)).body, 'again')
  })

  test('closes while Redis is away', async () => {
    const server = await startRedisServer()
    onTestFinished(() => server.close())
    const { carrier } = await scene({ connection: server.url })
    const waiting = receive(carrier, { waitMs: 60_000 })
    await carrier.levels({ queue })
    await server.stop('immediate')
    const ended = Promise.allSettled([waiting])
    await carrier.close()
    await ended
  })

  test('sends a message again that may have been lost, without two jobs', async () => {
    await using server = await startRedisServer({ durable: true })
    const proxy = await startCutProxy(server.port)
    onTestFinished(() => proxy.close())
    const { carrier } = await scene({ connection: proxy.url(server.url) })
    const one = message('1', tracked('018f2d3e-8c1a-7b2c-9d3e-4f5061728394'))
    // The server has it, and its reply is lost.
    const cut = proxy.cutAfter(0, 'toClient')
    await assert.rejects(send(carrier, one), { code: 'carrier_unreachable' })
    await cut
    await eventually(() => send(carrier, one))
    assert.equal((await carrier.levels({ queue })).ready, 1)
  })
})

/** Also over lost connections. */
async function receiveUntil(carrier: Carrier, count: number): Promise<readonly CarrierDelivery[]> {
  const all: CarrierDelivery[] = []
  while (all.length < count) {
    const received = await receive(carrier, { waitMs: 60_000 }).catch(ignoreTyped)
    all.push(...(received ?? []))
  }
  return all
}

async function sendUntilStopped(
  carrier: Carrier,
  server: RedisServer,
  mode: 'fast' | 'immediate',
): Promise<readonly string[]> {
  const acknowledged: string[] = []
  let stopped: Promise<void> | undefined
  for (let body = 0; ; body++) {
    const sent = await send(carrier, String(body)).catch(ignoreTyped)
    if (sent === undefined) break
    acknowledged.push(String(body))
    if (body === 50) stopped = server.stop(mode)
  }
  await stopped
  return acknowledged
}

async function fill(carrier: Carrier): Promise<Error & { readonly retryable: boolean }> {
  for (;;) {
    try {
      await send(carrier, 'x'.repeat(10_000))
    } catch (error) {
      return error as Error & { readonly retryable: boolean }
    }
  }
}

function ignoreTyped(error: unknown): undefined {
  assert.match(String((error as { readonly code?: unknown }).code), typed)
}
