import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, onTestFinished, test } from 'vitest'
import { allowsPrivateWebhooks } from '../../src/app/open-relay.ts'
import type {
  NewNotification,
  Notification,
  SettleNotification,
} from '../../src/backends/alarm-store.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import type { AlarmRule } from '../../src/core/alarm-rule.ts'
import { Relay, retryAfterMs, type UndeliveredNotification } from '../../src/maintenance/relay.ts'
import { createWebhook, type Webhook } from '../../src/maintenance/webhook.ts'
import { type VirtualClock, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const rule: AlarmRule = {
  ...{ name: 'deep', description: null, severity: 'warning', metric: 'depth', of: 'q' },
  ...{ statistic: 'maximum', periodMs: 60_000, targets: [], threshold: 1, comparison: 'above' },
  ...{ evaluationPeriods: 1, datapointsToAlarm: 1, missingData: 'missing' },
}

interface Scene {
  readonly backend: Backend
  readonly clock: VirtualClock
  readonly relay: Relay
  readonly failures: UndeliveredNotification[]
  /** Puts notifications into the outbox, with a change of state as alarms do. */
  notify(...notifications: readonly NewNotification[]): Promise<void>
  /** Moves the clock until something holds that takes real time as well. */
  until(holds: () => boolean): Promise<void>
}

async function openRelayScene(webhook: Webhook): Promise<Scene> {
  const folder = await temporaryFolder('relay')
  const ports = virtualPorts()
  const { clock } = ports
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  const { alarms } = backend
  assert.ok(alarms !== null)
  const failures: UndeliveredNotification[] = []
  const relay = new Relay({
    ...{ alarms, backend, webhook, timers: clock },
    onUndelivered: (failure) => void failures.push(failure),
  })
  await alarms.declareAlarms({ owner: 'test', rules: [rule] })
  relay.start()
  onTestFinished(async () => {
    await relay.stop()
    await backend.close()
    await folder.remove()
  })
  return {
    backend,
    clock,
    relay,
    failures,
    async notify(...notify) {
      const alarm = await alarms.readAlarm({ alarm: 'deep' })
      assert.ok(alarm !== undefined)
      const { state: from, revision } = alarm
      const to = from === 'ALARM' ? 'OK' : 'ALARM'
      await alarms.setAlarmState({ alarm: 'deep', revision, from, to, reason: 'test', notify })
    },
    async until(holds) {
      for (let turn = 0; turn < 2_000; turn += 1) {
        if (holds()) return
        await clock.advance(0)
      }
      assert.fail('it did not come to this')
    },
  }
}

const hook = (body: string, target = 'https://example.com/hook'): NewNotification => ({
  ...{ kind: 'webhook', target, body },
})

describe('the relay', () => {
  test('posts to a webhook, and does so once', async () => {
    const received: (readonly (string | undefined)[])[] = []
    const server = createServer(async (request, response) => {
      const { 'millrace-notification': key, 'millrace-attempt': attempt } = request.headers
      received.push([request.url, String(key), String(attempt), await text(request)])
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const scene = await openRelayScene(createWebhook({ allowPrivate: true, userAgent: 'test' }))
    await scene.notify(hook('{"state":"ALARM"}', `http://127.0.0.1:${port}/hook`))
    await scene.clock.advance(5_000)
    await scene.until(() => received.length > 0)
    assert.deepEqual(received, [['/hook', '1', '1', '{"state":"ALARM"}']])
    await scene.clock.advance(120_000)
    assert.equal(received.length, 1)
    assert.deepEqual(scene.failures, [])
  })

  test('refuses addresses that are not public, and says where, not what', async () => {
    const scene = await openRelayScene(createWebhook({ allowPrivate: false, userAgent: 'test' }))
    await scene.notify(hook('{}', 'http://127.0.0.1:1/services/s3cret'))
    await scene.clock.advance(5_000)
    await scene.until(() => scene.failures.length > 0)
    const [failure] = scene.failures
    assert.deepEqual([failure?.target, failure?.attempt], ['http://127.0.0.1:1', 1])
    assert.match(String(failure?.error), /not a public internet address/)
  })

  test('tries again after 5 s, then half as often each time, down to every 10 min', () => {
    const waits = [1, 2, 3, 4, 8, 9, 50].map(retryAfterMs)
    assert.deepEqual(waits, [5_000, 10_000, 20_000, 40_000, 600_000, 600_000, 600_000])
  })

  test('gives up after a day', async () => {
    const calls: number[] = []
    const scene = await openRelayScene(async () => {
      calls.push(scene.clock.now())
      throw new Error('unreachable')
    })
    const began = scene.clock.now()
    await scene.notify(hook('{}'))
    await scene.clock.advance(90_000_000)
    const last = scene.failures.at(-1)
    assert.equal(last?.retryInMs, null)
    assert.equal(scene.failures.filter(({ retryInMs }) => retryInMs === null).length, 1)
    assert.equal(scene.failures.length, calls.length)
    assert.ok((calls.at(-1) ?? 0) - began > 86_400_000 - 1_200_000)
    assert.ok((calls.at(-1) ?? 0) - began <= 86_400_000)
    const left = await scene.backend.alarms?.takeNotifications({ limit: 10, leaseMs: 1_000 })
    assert.deepEqual(left, [])
  })

  test('calls it a failure when there is no answer within 10 s', async () => {
    const aborted: number[] = []
    const scene = await openRelayScene(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted.push(scene.clock.now())
            reject(signal.reason)
          })
        }),
    )
    const began = scene.clock.now()
    await scene.notify(hook('{}'))
    await scene.clock.advance(15_000)
    assert.deepEqual(aborted, [began + 15_000])
    assert.match(String(scene.failures[0]?.error), /No response within 10000 ms/)
  })

  test('sends to queues, and to FIFO queues without a duplicate', async () => {
    const scene = await openRelayScene(async () => undefined)
    const { backend, clock } = scene
    await backend.createQueue({ queue: 'q' })
    await backend.createQueue({ queue: 'q.fifo', settings: { type: 'fifo' } })
    await scene.notify(
      { kind: 'queue', target: 'q', body: '{"a":1}' },
      { kind: 'queue', target: 'q.fifo', body: '{"a":1}' },
      { kind: 'queue', target: 'gone', body: '{"a":1}' },
    )
    await clock.advance(5_000)
    for (const queue of ['q', 'q.fifo']) {
      const { items } = await backend.peek({ queue, state: 'ready', limit: 10 })
      assert.deepEqual(
        items.map(({ body }) => body),
        ['{"a":1}'],
      )
    }
    assert.equal(scene.failures[0]?.target, 'gone')
    await backend.createQueue({ queue: 'gone' })
    await clock.advance(10_000)
    assert.equal((await backend.queueStatistics({ queue: 'gone' })).ready, 1)
  })

  test('does not let one that fails hold up the others', async () => {
    const delivered: string[] = []
    const scene = await openRelayScene(async ({ url, body }) => {
      if (url.includes('broken')) throw new Error('no')
      delivered.push(body)
    })
    const many = Array.from({ length: 25 }, (_, index) => hook(`${index}`))
    await scene.notify(hook('x', 'https://broken.example/'), ...many)
    await scene.clock.advance(5_000)
    assert.equal(delivered.length, 25)
    assert.equal(scene.failures.length, 1)
  })

  test('tells a target of the changes of an alarm in their order, also when one fails', async () => {
    const delivered: string[] = []
    let failures = 3
    const scene = await openRelayScene(async ({ url, body }) => {
      if (url.includes('broken') && failures > 0) {
        failures -= 1
        throw new Error('no')
      }
      delivered.push(`${new URL(url).hostname} ${body}`)
    })
    const change = (body: string): Promise<void> =>
      scene.notify(hook(body, 'https://broken.example/'), hook(body, 'https://other.example/'))
    await change('1')
    await scene.clock.advance(20_000)
    await change('2')
    await scene.clock.advance(5_000)
    // Another target has nothing to do with it.
    assert.deepEqual(delivered, ['other.example 1', 'other.example 2'])
    await scene.clock.advance(60_000)
    assert.deepEqual(delivered.slice(2), ['broken.example 1', 'broken.example 2'])
  })

  test('delivers again what it could not say it had delivered', async () => {
    const delivered: string[] = []
    const scene = await openRelayScene(async ({ body }) => void delivered.push(body))
    const { alarms } = scene.backend
    assert.ok(alarms !== null)
    // Somebody else took it, and died before saying what became of it.
    await scene.notify(hook('{}'))
    await alarms.takeNotifications({ limit: 1, leaseMs: 60_000 })
    await scene.clock.advance(50_000)
    assert.deepEqual(delivered, [])
    await scene.clock.advance(15_000)
    assert.deepEqual(delivered, ['{}'])
  })

  test('begins no delivery of what it took while it was stopping', async () => {
    const taken = Promise.withResolvers<readonly Notification[]>()
    const settled: SettleNotification[] = []
    const { clock } = virtualPorts()
    const relay = new Relay({
      alarms: {
        now: async () => clock.now(),
        takeNotifications: () => taken.promise,
        settleNotification: async (settlement) => void settled.push(settlement),
      },
      backend: { send: () => assert.fail(), readQueue: () => assert.fail() },
      // An answer that never comes, unless the call is broken off.
      webhook: ({ signal }) =>
        new Promise((_, reject) => {
          if (signal.aborted) reject(new Error('aborted'))
        }),
      timers: clock,
      onUndelivered: () => assert.fail(),
    })
    relay.start()
    await clock.advance(5_000)
    const stopped = relay.stop()
    const times = { attempt: 1, createdAt: clock.now() }
    taken.resolve([{ ...hook('{}'), ...times, id: '1.1', key: '1' }])
    await stopped
    assert.deepEqual(settled, [{ id: '1.1', outcome: 'retry', delayMs: 0, error: 'stopped' }])
  })

  test('stops at once, and leaves what was at hand to the next', async () => {
    const scene = await openRelayScene(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    )
    await scene.notify(hook('{}'))
    await scene.clock.advance(5_000)
    await scene.relay.stop()
    assert.equal(scene.clock.pendingTimers, 0)
    assert.deepEqual(scene.failures, [])
    const left = await scene.backend.alarms?.takeNotifications({ limit: 10, leaseMs: 1_000 })
    assert.deepEqual(
      left?.map(({ attempt }) => attempt),
      [2],
    )
  })
})

describe('private webhooks', () => {
  test('are refused unless the environment says allow', () => {
    const value = (text?: string): boolean =>
      allowsPrivateWebhooks({ MILLRACE_PRIVATE_WEBHOOKS: text })
    assert.deepEqual(
      [value(), value(''), value('refuse'), value(' Allow ')],
      [...[false, false, false, true]],
    )
    assert.throws(() => value('true'), /MILLRACE_PRIVATE_WEBHOOKS: got 'true', expected allow/)
  })
})
