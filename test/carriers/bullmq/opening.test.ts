import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { describe, onTestFinished, test } from 'vitest'
import type { CarrierChoice } from '../../../src/backends/carriers/carrier.ts'
import { type BullmqOptions, bullmq } from '../../../src/bullmq.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { systemPorts } from '../../../src/core/ports.ts'
import { freePort } from '../../services/free-port.ts'
import { freshRedis } from '../../services/fresh-redis.ts'
import { startRedisServer } from '../../services/redis-server.ts'
import { queue, receiveOne, scene, send, standard } from './scene.ts'

const secret = 's3cret#/word'

describe('bullmq()', () => {
  test('names the place without a user or a password', () => {
    const url = `redis://me:${encodeURIComponent(secret)}@redis.local:6380/2`
    const options = { host: 'h', port: 1, db: 3, password: secret }
    const instance = new Redis({ ...options, lazyConnect: true })
    assert.deepEqual(
      [bullmq(url).place, bullmq(options, { prefix: 'p' }).place, bullmq(instance).place],
      [
        'redis://redis.local:6380/2, prefix bull',
        'redis://h:1/3, prefix p',
        'redis://h:1/3, prefix bull',
      ],
    )
  })

  test.each([
    ['http://localhost', {}, /connection: got a URL that cannot be read/],
    [`redis://:${secret}@localhost`, {}, /got a URL that cannot be read, expected a URL such as/],
    [5, {}, /connection: got 5/],
    [{ host: 'h', keyPrefix: 'x:' }, {}, /BullMQ needs its own option prefix/],
    ['redis://h', { prefx: 'x' }, /prefx: got an unknown option.*prefix/],
    ['redis://h', { prefix: '' }, /prefix: got ''/],
    [
      'redis://h',
      { removeOnComplete: { cont: 1 } },
      /removeOnComplete.cont: got an unknown option/,
    ],
    ['redis://h', { removeOnFail: -1 }, /removeOnFail: got -1/],
    ['redis://h', { limiters: { q: { max: 1, duration: 0 } } }, /limiters.q.duration: got 0/],
    ['redis://h', { stalledInterval: 1 }, /stalledInterval: got 1/],
  ])('refuses %j, %j', (connection, options, text) => {
    assert.throws(
      () => bullmq(connection as string, options as BullmqOptions),
      (error) => {
        assert.ok(error instanceof MillraceError && error.code === 'invalid_argument')
        assert.match(error.message, text)
        assert.ok(!inspect(error).includes(secret))
        return true
      },
    )
  })
})

describe('a carrier on BullMQ opens', () => {
  test.each(['url', 'options', 'instance'])('with a connection as %s', async (kind) => {
    const { url, prefix } = await freshRedis()
    const { hostname: host, port } = new URL(url)
    const options = { host, port: Number(port) }
    const instance = new Redis({ ...options, lazyConnect: true })
    const connection = kind === 'url' ? url : kind === 'options' ? options : instance
    const { carrier } = await scene({ connection, prefix })
    await send(carrier, '1')
    assert.equal((await receiveOne(carrier)).body, '1')
    await carrier.check()
    await carrier.close()
    assert.equal(instance.status, 'wait')
  })

  test('with a user and a password, which are in no error and no notice', async () => {
    await using server = await startRedisServer({ password: secret })
    const { carrier, notices } = await scene({ connection: server.url })
    await send(carrier, '1')
    await server.stop('immediate')
    const error = await rejection(send(carrier, '2'))
    assert.equal(error.code, 'carrier_unreachable')
    assert.match(
      notices.join('\n'),
      /^The connection to Redis at redis:\/\/127.0.0.1:\d+\/0, prefix bull was lost\.$/,
    )
    assert.ok(!inspect([error, notices], { depth: 9, showHidden: true }).includes('s3cret'))
  })

  test('not with a wrong password, or none', async () => {
    await using server = await startRedisServer({ password: 'right' })
    for (const user of [':wrong-s3cret@', '']) {
      const url = `redis://${user}127.0.0.1:${server.port}`
      const error = await refusal(bullmq(url))
      assert.equal(error.code, 'carrier_unusable')
      assert.match(error.message, /password/)
      assert.ok(!inspect(error, { depth: 9 }).includes('s3cret'))
    }
  })

  test('not where no server listens', async () => {
    const error = await refusal(bullmq(`redis://127.0.0.1:${await freePort()}`))
    assert.equal(error.code, 'carrier_unreachable')
    assert.match(error.message, /no server listens there/)
  })

  test.each([
    ['-eval', 'eval', /EVAL/],
    ['-evalsha', 'evalsha', /EVALSHA/],
    ['-bzpopmin', 'bzpopmin', /BZPOPMIN/],
    ['-info', 'info', /INFO/],
    ['-set', 'set in scripts', /right/],
  ])('not for a user without a right: %s', async (right, _name, text) => {
    const directives = [`user limited on >pass ~* &* +@all ${right}`]
    await using server = await startRedisServer({ directives })
    const error = await refusal(bullmq(`redis://limited:pass@127.0.0.1:${server.port}`))
    assert.equal(error.code, 'carrier_unusable')
    assert.match(error.message, text)
  })

  test('not for a user of other keys', async () => {
    const directives = ['user limited on >pass ~mine:* &* +@all']
    await using server = await startRedisServer({ directives })
    const url = `redis://limited:pass@127.0.0.1:${server.port}`
    assert.match((await refusal(bullmq(url))).message, /the keys of the queue/)
    const { carrier } = await scene({ connection: url, prefix: 'mine' })
    await send(carrier, '1')
    assert.equal((await receiveOne(carrier)).body, '1')
  })

  test('not on a read-only replica', async () => {
    await using primary = await startRedisServer()
    const directives = [`replicaof 127.0.0.1 ${primary.port}`]
    await using replica = await startRedisServer({ directives })
    const error = await refusal(bullmq(replica.url))
    assert.equal(error.code, 'carrier_unusable')
    assert.match(error.message, /read-only replica/)
  })

  test('with a notice if the server may remove keys', async () => {
    await using server = await startRedisServer({ policy: 'allkeys-lru' })
    const { notices } = await scene({ connection: server.url })
    assert.equal(notices.length, 1)
    assert.match(
      notices[0] ?? '',
      /maxmemory-policy allkeys-lru.*set maxmemory-policy noeviction\.$/,
    )
  })
})

describe('a queue of BullMQ is not created', () => {
  test('if it is FIFO', async () => {
    const { carrier } = await scene()
    const settings = { ...standard, type: 'fifo' as const }
    const error = await rejection(carrier.ensure({ queue: 'a.fifo', settings, isTracked: true }))
    assert.equal(error.code, 'carrier_unusable')
    assert.match(error.message, /BullMQ has no FIFO queues/)
  })

  test.each(['taken', 'taken:wait'])('if the key %s holds something else', async (key) => {
    const at = await scene()
    const client = new Redis(at.url)
    onTestFinished(() => client.disconnect())
    await client.set(`${at.prefix}:${key}`, 'text')
    const ensured = at.carrier.ensure({ queue: 'taken', settings: standard, isTracked: true })
    const error = await rejection(ensured)
    assert.equal(error.code, 'carrier_unusable')
    assert.match(error.message, /has a string at/)
  })

  test('if its name has a colon', async () => {
    const { carrier } = await scene()
    const ensured = carrier.ensure({ queue: 'a:b', settings: standard, isTracked: true })
    assert.match((await rejection(ensured)).message, /no colon/)
  })

  test('twice: what is there stays', async () => {
    const { carrier } = await scene()
    await send(carrier, '1')
    assert.deepEqual(await carrier.ensure({ queue, settings: standard, isTracked: true }), [])
    assert.equal((await receiveOne(carrier)).body, '1')
  })
})

function refusal(choice: CarrierChoice): Promise<MillraceError> {
  return rejection(
    choice.open({ onNotice: () => {}, now: () => Date.now(), timers: systemPorts.timers }),
  )
}

async function rejection(call: Promise<unknown>): Promise<MillraceError> {
  const error = await call.then(
    () => assert.fail('It was not refused.'),
    (given: unknown) => given,
  )
  assert.ok(error instanceof MillraceError, String(error))
  return error
}
