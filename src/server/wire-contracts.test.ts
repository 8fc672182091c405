/** Receives over the wire of a declared queue, which has no dead-letter queue for what breaks its contract. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Backend, Delivery } from '../backends/backend.ts'
import { openSqlite } from '../backends/sqlite/index.ts'
import { queue } from '../contracts/queue-declaration.ts'
import type { QueueSettings } from '../core/queue-settings.ts'
import type { RefusedDelivery } from '../receiving/check-deliveries.ts'
import { type VirtualPorts, virtualPorts } from '../testing/virtual-clock.ts'
import { WireContracts } from './wire-contracts.ts'

const bad = '{"note":"bob@example.com"}'
const good = '{"a":1}'

interface WireScene {
  /** With checks. */
  readonly store: Backend
  readonly clock: VirtualPorts['clock']
  readonly refused: readonly RefusedDelivery[]
  /** By a program that checks nothing. */
  put(...bodies: readonly string[]): Promise<void>
}

async function wireScene(settings: Partial<QueueSettings> = {}): Promise<WireScene> {
  const folder = await temporaryFolder('wire-contracts')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  await backend.createQueue({ queue: 'pii', settings })
  const refused: RefusedDelivery[] = []
  const onRefused = (one: RefusedDelivery): void => {
    refused.push(one)
  }
  const contracts = new WireContracts({ backend, clock: ports.clock, onRefused })
  const declared = queue({ noPersonalData: true })
  contracts.set([{ key: 'pii', name: 'pii', declared, app: {} }])
  return {
    store: contracts.store,
    clock: ports.clock,
    refused,
    async put(...bodies) {
      await backend.send({ queue: 'pii', messages: bodies.map((body) => ({ body })) })
    },
  }
}

const bodiesOf = (deliveries: readonly Delivery[]): readonly string[] =>
  deliveries.map(({ body }) => body)

describe('a receive that meets bodies which it must leave in the queue', () => {
  test.each([0, 3_000])(
    'continues with the good ones behind them, waiting %d ms',
    async (waitMs) => {
      const { store, refused, put } = await wireScene()
      await put(bad, bad, bad, good)
      const received = await store.receive({ queue: 'pii', max: 1, waitMs })
      assert.deepEqual(bodiesOf(received), [good])
      assert.equal(refused.length, 3)
    },
  )

  test('waits for good ones as long as it was to wait', async () => {
    const { store, refused, clock, put } = await wireScene({ receiveWaitMs: 20_000 })
    for (const wait of [{ waitMs: 20_000 }, {}]) {
      const before = refused.length
      await put(bad)
      const receiving = store.receive({ queue: 'pii', max: 1, ...wait })
      await until(() => refused.length > before)
      await clock.advance(15_000)
      await put(good)
      assert.deepEqual(bodiesOf(await receiving), [good])
    }
  })

  test('ends with its wait', async () => {
    const { store, refused, clock, put } = await wireScene()
    await put(bad)
    const receiving = store.receive({ queue: 'pii', max: 1, waitMs: 3_000 })
    await until(() => refused.length > 0)
    await clock.advance(3_000)
    assert.deepEqual(await receiving, [])
  })

  test('continues when a lease shorter than its wait expires', async () => {
    const { store, refused, clock, put } = await wireScene({ visibilityMs: 1_000 })
    await put(bad)
    const receiving = store.receive({ queue: 'pii', max: 1, waitMs: 20_000 })
    await until(() => refused.length > 0)
    await clock.advance(1_000)
    await until(() => refused.length > 1)
    await put(good)
    assert.deepEqual(bodiesOf(await receiving), [good])
  })

  test.each([
    ['as it asks', {}, { visibilityMs: 0 }],
    ['by the queue', { visibilityMs: 0 }, {}],
  ])('ends when they are not hidden, %s', async (_name, settings, request) => {
    const { store, refused, put } = await wireScene(settings)
    await put(bad, bad)
    const asked = { queue: 'pii', max: 10, waitMs: 20_000, ...request }
    assert.deepEqual(await store.receive(asked), [])
    assert.ok(refused.length <= 4)
  })
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}
