/** What a program learns when SQS fails, and that it learns nothing else. */
import assert from 'node:assert/strict'
import { SQS, SQSClient } from '@aws-sdk/client-sqs'
import { describe, test } from 'vitest'
import type { Carrier } from '../../../src/backends/carriers/carrier.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { systemPorts } from '../../../src/core/ports.ts'
import { sqs } from '../../../src/sqs.ts'
import { freePort } from '../../services/free-port.ts'
import { startCli } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import {
  carrierScene,
  clientSettings,
  messageOf,
  newQueue,
  receiveFrom,
  receiveOne,
  sendBodies,
} from './carrier-scene.ts'
import { millrace } from './sqs-servers.ts'

const secret = 'a-secret-that-no-error-has'

const opening = {
  onNotice: assert.fail,
  now: systemPorts.clock.now,
  timers: systemPorts.timers,
}

describe('a carrier on SQS', () => {
  const scene = carrierScene(millrace)

  async function watched(): Promise<readonly [Carrier, string]> {
    const client = { ...clientSettings(scene.watch.url), maxAttempts: 1 }
    const carrier = await scene.open({ client })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    return [carrier, queue]
  }

  test.each([
    ['RequestThrottled', 403, 'carrier_unreachable'],
    ['ThrottlingException', 400, 'carrier_unreachable'],
    ['OverLimit', 403, 'in_flight_limit'],
    ['InternalFailure', 500, 'carrier_unreachable'],
    ['ServiceUnavailable', 503, 'carrier_unreachable'],
    ['AccessDeniedException', 400, 'carrier_unusable'],
    ['UnrecognizedClientException', 403, 'carrier_unusable'],
    ['KmsAccessDenied', 400, 'carrier_unusable'],
    ['ExpiredToken', 403, 'carrier_unreachable'],
    ['QueueDoesNotExist', 400, 'queue_not_found'],
    ['InvalidParameterValue', 400, 'carrier_failed'],
  ])('that is told %s (%i) rejects a receive with one line: %#', async (code, status, expected) => {
    const [carrier, queue] = await watched()
    scene.watch.before = async () => ({ status, code, message: secret })
    const failure = await failureOf(receiveFrom(carrier, queue))
    scene.watch.reset()
    assert.equal(failure.code, expected)
    assert.match(failure.message, new RegExp(`^[^\\n]*'${queue}'[^\\n]*$`))
    assert.doesNotMatch(failure.message, new RegExp(secret))
    if (expected === 'carrier_unusable') assert.match(failure.message, /sqs:ReceiveMessage/)
  })

  test('rejects a second purge within a minute', async () => {
    const [carrier, queue] = await watched()
    scene.watch.before = async () => ({ status: 403, code: 'PurgeQueueInProgress' })
    await assert.rejects(carrier.purge({ queue }), { code: 'purge_in_progress' })
    scene.watch.reset()
  })

  test('tries throttled calls again, as the SDK does', async () => {
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    scene.watch.reset()
    let calls = 0
    scene.watch.before = async () =>
      calls++ === 0 ? { status: 403, code: 'RequestThrottled' } : undefined
    await sendBodies(carrier, queue, ['one'])
    scene.watch.reset()
    assert.equal((await receiveOne(carrier, queue)).body, 'one')
  })

  test('rejects a sending of which nothing was sent', async () => {
    const [carrier, queue] = await watched()
    scene.watch.before = async () => ({ status: 503, code: 'ServiceUnavailable', message: secret })
    const sending = carrier.send({ queue, messages: [messageOf(secret)] })
    await assert.rejects(sending, {
      code: 'carrier_unreachable',
      message: `SQS cannot be reached for SendMessageBatch on queue '${queue}' (ServiceUnavailable, status 503).`,
    })
    scene.watch.reset()
  })

  test('cannot be opened without a server', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const choice = sqs({ client: { ...clientSettings(url), maxAttempts: 1 } })
    await assert.rejects(choice.open(opening), {
      code: 'carrier_unreachable',
      message: 'SQS cannot be reached for ListQueues (ECONNREFUSED).',
    })
  })

  test('is opened by credentials that may not list queues', async () => {
    scene.watch.before = async ({ action }) =>
      action === 'ListQueues' ? { status: 403, code: 'AccessDenied' } : undefined
    const carrier = await scene.open({ url: scene.watch.url })
    const queue = await newQueue(carrier)
    await carrier.check()
    await carrier.removeQueue({ queue })
    scene.watch.reset()
  })

  test("leaves the caller's client open", async () => {
    const client = new SQSClient(clientSettings(scene.url))
    const carrier = await scene.open({ client })
    const queue = await newQueue(carrier)
    await carrier.close()
    const again = await scene.open({ client })
    await sendBodies(again, queue, ['one'])
    assert.equal((await receiveOne(again, queue)).body, 'one')
    client.destroy()
  })
})

describe('a server that checks signatures', () => {
  test('is used by a client whose clock is 20 minutes off, and not with a wrong key', async () => {
    await using folder = await closing()
    const key = { accessKeyId: 'AKIATEST1', secretAccessKey: secret }
    const server = startCli(['serve', '--port', '0', '--data', folder.data, '--log', 'error'], {
      MILLRACE_ACCESS_KEYS: `AKIATEST1:${secret}:111111111111`,
    })
    const [, endpoint = ''] = await server.output(/listening on (http:\S+)/)
    const settings = { endpoint, region: 'us-east-1', credentials: key }
    const late = { ...settings, systemClockOffset: -20 * 60_000 }
    // Without another try the skew shows.
    const strict = new SQS({ ...late, maxAttempts: 1 })
    await assert.rejects(strict.listQueues({}), /expired|Signature|skew/i)
    strict.destroy()
    const client = new SQSClient(late)
    const carrier = await sqs({ client }).open(opening)
    const queue = await newQueue(carrier)
    await sendBodies(carrier, queue, ['one'])
    assert.equal((await receiveOne(carrier, queue)).body, 'one')
    await carrier.close()
    client.destroy()

    const wrong = { accessKeyId: 'AKIATEST1', secretAccessKey: 'another-secret-of-someone' }
    const refused = await failureOf(
      sqs({ client: { ...settings, credentials: wrong } }).open(opening),
    )
    assert.equal(refused.code, 'carrier_unusable')
    assert.match(refused.message, /ListQueues/)
    assert.doesNotMatch(refused.message, /AKIATEST1|secret/)
    server.kill('SIGTERM')
    await server.ended
  })
})

async function failureOf(call: Promise<unknown>): Promise<MillraceError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof MillraceError)
  return error
}

async function closing(): Promise<AsyncDisposable & { readonly data: string }> {
  const folder = await temporaryFolder('sqs-clock')
  return { data: folder.file('data'), [Symbol.asyncDispose]: () => folder.remove() }
}

describe('options of the carrier SQS', () => {
  test.each([
    [{ prefix: 'a' }, /prefix: got an unknown option/],
    [{ client: { regoin: 'eu-west-1' } }, /client\.regoin.*region/],
    [{ queues: 'make' }, /queues: got 'make', expected one of create, use/],
    [{ namePrefix: 'a b' }, /namePrefix/],
    [{ pollers: { max: 0 } }, /pollers\.max/],
    [{ pollers: { min: 1 } }, /pollers\.min/],
    [{ client: 'http://localhost' }, /client: got/],
  ])('are checked: %j', (options, message) => {
    assert.throws(() => sqs(options as object), { code: 'invalid_argument', message })
  })

  test('name the place without secrets', () => {
    const endpoint = `https://user:${secret}@sqs.example.com:8080/path`
    assert.equal(sqs({ client: { endpoint } }).place, 'SQS at sqs.example.com:8080')
    assert.equal(sqs({ client: { region: 'eu-west-1' } }).place, 'AWS SQS in eu-west-1')
    assert.equal(sqs().place, 'AWS SQS')
  })
})
