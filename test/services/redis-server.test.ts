import assert from 'node:assert/strict'
import { Redis } from 'ioredis'
import { describe, onTestFinished, test, vi } from 'vitest'
import { ChildProgram } from '../support/child-program.ts'
import { type RedisServer, startRedisServer } from './redis-server.ts'
import type { RedisReport } from './servers.ts'

describe('a Redis server for tests', () => {
  test('keeps its data and its port over a crash, if it is durable', async () => {
    await using server = await startRedisServer({ durable: true })
    const client = connected(server)
    await client.set('kept', '1')
    assert.deepEqual(await client.config('GET', 'appendfsync'), ['appendfsync', 'always'])
    client.disconnect()
    await server.stop('immediate')
    await assert.rejects(connected(server).ping(), /closed|ECONNREFUSED/)
    await server.start()
    assert.equal(await connected(server).get('kept'), '1')
  })

  test('has the memory, the policy and the password it was given', async () => {
    const options = { maxmemory: '3mb', policy: 'allkeys-lru', password: 'p#1' }
    await using server = await startRedisServer(options)
    const client = connected(server)
    assert.deepEqual(await client.config('GET', 'maxmemory'), ['maxmemory', '3145728'])
    assert.deepEqual(await client.config('GET', 'maxmemory-policy'), [
      'maxmemory-policy',
      'allkeys-lru',
    ])
  })

  test('ends with the process that started it', async () => {
    const child = new ChildProgram(new URL('redis-server.child.ts', import.meta.url), {})
    const { redisUrl } = await child.next<RedisReport>('redis started')
    await child.kill()
    await vi.waitFor(() => assert.rejects(connected({ url: redisUrl }).ping()), { timeout: 30_000 })
  })
})

function connected({ url }: Pick<RedisServer, 'url'>): Redis {
  const client = new Redis(url, { retryStrategy: null, replyMapping: 'legacy' })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return client
}
