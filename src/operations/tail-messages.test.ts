import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Backend } from '../backends/backend.ts'
import { openSqlite } from '../backends/sqlite/index.ts'
import { type VirtualClock, virtualPorts } from '../testing/virtual-clock.ts'
import { type TailOptions, tailMessages } from './tail-messages.ts'

interface Scene {
  readonly backend: Backend
  readonly clock: VirtualClock
  send(...bodies: readonly string[]): Promise<void>
  tail(options?: Partial<TailOptions>): Promise<Tail>
}

interface Tail {
  readonly bodies: readonly string[]
  readonly missed: number
  /** Lets the tail look once more. */
  look(): Promise<void>
}

async function tailScene(): Promise<Scene> {
  const folder = await temporaryFolder('tail')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  await backend.createQueue({ queue: 'dead' })
  const deadLetter = { queue: 'dead', maxReceives: 1 }
  await backend.createQueue({ queue: 'orders', settings: { deadLetter } })
  return {
    backend,
    clock: ports.clock,
    send: async (...bodies) => {
      await backend.send({ queue: 'orders', messages: bodies.map((body) => ({ body })) })
    },
    tail: (options = {}) => startTail(backend, ports, options),
  }
}

async function startTail(
  backend: Backend,
  { clock }: ReturnType<typeof virtualPorts>,
  options: Partial<TailOptions>,
): Promise<Tail> {
  const stopping = new AbortController()
  const bodies: string[] = []
  let missed = 0
  const following = Promise.withResolvers<void>()
  const messages = tailMessages({
    backend,
    timers: clock,
    queue: 'orders',
    signal: stopping.signal,
    onFollowing: following.resolve,
    onMissed: (count) => {
      missed = count
    },
    ...options,
  })
  const ended = (async () => {
    for await (const { body } of messages) bodies.push(body)
  })()
  onTestFinished(() => stopping.abort())
  await Promise.race([following.promise, ended])
  return {
    bodies,
    get missed() {
      return missed
    },
    look: () => clock.advance(250),
  }
}

describe('a tail of a queue', () => {
  test('meets each message once, in the order of sending, whatever becomes of it', async () => {
    const { backend, clock, send, tail } = await tailScene()
    await send('before')
    const { bodies, look } = await tail()
    await send('one', 'two')
    await look()
    const [first] = await backend.receive({ queue: 'orders', max: 3, visibilityMs: 1_000 })
    assert.equal(first?.body, 'before')
    await send('three')
    await look()
    // All three come back, and are not new.
    await clock.advance(2_000)
    await look()
    await look()
    assert.deepEqual(bodies, ['one', 'two', 'three'])
  })

  test('meets messages that are leased or delayed when it looks', async () => {
    const { backend, send, tail } = await tailScene()
    const { bodies, look } = await tail()
    await send('leased')
    await backend.receive({ queue: 'orders', max: 1 })
    const messages = [{ body: 'delayed', delayMs: 60_000 }]
    await backend.send({ queue: 'orders', messages })
    await look()
    assert.deepEqual(bodies, ['leased', 'delayed'])
  })

  test('counts what came and went between two looks', async () => {
    const { backend, send, tail } = await tailScene()
    const following = await tail()
    await send('gone', 'stays')
    const [delivery] = await backend.receive({ queue: 'orders', max: 1 })
    const outcome = { kind: 'acknowledge' } as const
    const settlements = [{ receipt: delivery?.receipt ?? '', outcome }]
    await backend.settle({ queue: 'orders', settlements })
    await following.look()
    assert.deepEqual([following.bodies, following.missed], [['stays'], 1])
  })

  test('sees dead letters arrive, though they keep the place they had', async () => {
    const { backend, send, tail } = await tailScene()
    await send('old')
    await backend.send({ queue: 'dead', messages: [{ body: 'younger' }] })
    const { bodies, look } = await tail({ queue: 'dead', fromStart: true })
    assert.deepEqual(bodies, ['younger'])
    const [delivery] = await backend.receive({ queue: 'orders', max: 1 })
    const outcome = { kind: 'deadLetter', reason: 'bad' } as const
    const settlements = [{ receipt: delivery?.receipt ?? '', outcome }]
    await backend.settle({ queue: 'orders', settlements })
    await look()
    await look()
    assert.deepEqual(bodies, ['younger', 'old'])
  })

  test('continues behind a long backlog', async () => {
    const { send, tail } = await tailScene()
    const many = Array.from({ length: 700 }, (_, at) => `b${at}`)
    await send(...many)
    const { bodies, look } = await tail({ fromStart: true })
    assert.equal(bodies.length, 700)
    await send(...many)
    await look()
    await send('last')
    await look()
    assert.equal(bodies.length, 1_401)
    assert.equal(bodies.at(-1), 'last')
  })

  test('refuses a queue that does not exist', async () => {
    const { tail } = await tailScene()
    await assert.rejects(tail({ queue: 'nothing' }), { code: 'queue_not_found' })
  })
})
