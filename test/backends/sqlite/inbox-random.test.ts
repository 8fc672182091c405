/**
 * People and programs at the same queue, in random order and with time passing: whatever they do, the
 * store answers as a few lines of bookkeeping do, and each message is decided once.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import type { InboxEvent, InboxStore } from '../../../src/backends/inbox-store.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type VirtualPorts, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const queue = 'inbox'
const people = ['anna', 'ben', 'cleo'] as const
const messageCount = 6
const steps = 120
const leaseMs = 30_000

/** What is known about a message from the answers of the store alone. */
interface Known {
  readonly id: string
  /** How often somebody was told that it is done. */
  decided: number
  /** The latest lease: of a person, or of a program with its receipt. */
  lease: Lease | undefined
  /** Receives that count. */
  received: number
}

interface Lease {
  readonly by: string | null
  readonly token: number
  readonly receipt: string | null
  until: number
  ended: boolean
}

class Run {
  readonly ports: VirtualPorts
  backend: Backend
  readonly #reopen: () => Promise<Backend>
  readonly known: readonly Known[]

  constructor(
    ports: VirtualPorts,
    backend: Backend,
    ids: readonly string[],
    reopen: Run['reopen'],
  ) {
    this.ports = ports
    this.backend = backend
    this.#reopen = reopen
    this.known = ids.map((id) => ({ id, decided: 0, lease: undefined, received: 0 }))
  }

  get inboxes(): InboxStore {
    assert.ok(this.backend.inboxes !== null)
    return this.backend.inboxes
  }

  get now(): number {
    return this.ports.clock.now()
  }

  async reopen(): Promise<Backend> {
    this.backend = await this.#reopen()
    return this.backend
  }

  below(count: number): number {
    return Math.floor(this.ports.randomness.next() * count)
  }

  pick<T>(choices: readonly T[]): T {
    const chosen = choices[this.below(choices.length)]
    assert.ok(chosen !== undefined)
    return chosen
  }

  live({ lease }: Known): Lease | undefined {
    return lease !== undefined && !lease.ended && lease.until > this.now ? lease : undefined
  }

  /** The oldest that can be had. */
  get oldest(): Known | undefined {
    return this.known.find((one) => one.decided === 0 && this.live(one) === undefined)
  }

  async step(): Promise<void> {
    const act = this.pick([
      this.claimOldest,
      this.claimChosen,
      this.claimChosen,
      this.renew,
      this.resolve,
      this.release,
      this.note,
      this.receive,
      this.endReceive,
      this.passTime,
      this.passTime,
      this.look,
    ])
    await act.call(this)
  }

  async claimOldest(): Promise<void> {
    const by = this.pick(people)
    const expected = this.oldest
    const result = await this.inboxes.claim({ queue, by, leaseMs })
    if (expected === undefined) return assert.deepEqual(result, { status: 'none' })
    assert.ok(result.status === 'claimed')
    assert.equal(result.item.message.id, expected.id)
    this.#taken(expected, { by, token: result.item.claim?.token ?? 0, receipt: null })
  }

  async claimChosen(): Promise<void> {
    const by = this.pick(people)
    const one = this.pick(this.known)
    const live = this.live(one)
    const result = await this.inboxes.claim({ queue, id: one.id, by, leaseMs })
    if (one.decided > 0) return assert.deepEqual(result, { status: 'gone' })
    if (live === undefined) {
      assert.ok(result.status === 'claimed')
      this.#taken(one, { by, token: result.item.claim?.token ?? 0, receipt: null })
    } else if (live.by === by) {
      assert.ok(result.status === 'claimed')
      assert.equal(result.item.claim?.token, live.token)
    } else {
      assert.deepEqual(result, { status: 'taken', holder: live.by, until: live.until })
    }
  }

  async renew(): Promise<void> {
    const { one, request, refusal } = this.#asHolder()
    const result = await this.inboxes.renew({ ...request, leaseMs: 2 * leaseMs })
    assert.equal(result.status, refusal ?? 'done')
    if (refusal === undefined && one.lease) one.lease.until = this.now + 2 * leaseMs
  }

  async resolve(): Promise<void> {
    const { one, request, refusal } = this.#asHolder()
    const result = await this.inboxes.resolve(request)
    assert.equal(result.status, refusal ?? 'done')
    if (refusal === undefined) one.decided += 1
  }

  async release(): Promise<void> {
    const { one, request, refusal } = this.#asHolder()
    const result = await this.inboxes.release(request)
    assert.equal(result.status, refusal ?? 'done')
    if (refusal !== undefined || one.lease === undefined) return
    one.lease.ended = true
    one.received -= 1
    assert.ok(result.status === 'done')
    assert.equal(result.item?.message.receiveCount, one.received)
  }

  async note(): Promise<void> {
    const one = this.pick(this.known)
    const note = { queue, id: one.id, by: this.pick(people), note: 'seen' }
    const { status } = await this.inboxes.note(note)
    assert.equal(status, one.decided > 0 ? 'gone' : 'done')
  }

  async receive(): Promise<void> {
    const expected = this.oldest
    const request = { queue, max: 1, visibilityMs: leaseMs }
    const [delivery] = await this.backend.receive(request)
    assert.equal(delivery?.id, expected?.id)
    if (delivery === undefined || expected === undefined) return
    const { token, receipt } = delivery
    this.#taken(expected, { by: null, token, receipt })
    assert.equal(delivery.receiveCount, expected.received)
  }

  /** A program that is done, in time or late: a standard queue takes it while nobody else came. */
  async endReceive(): Promise<void> {
    const one = this.pick(this.known)
    const receipt = one.lease?.receipt
    if (typeof receipt !== 'string') return
    const outcome = { kind: 'acknowledge' } as const
    const [result] = await this.backend.settle({ queue, settlements: [{ receipt, outcome }] })
    if (one.decided > 0) return assert.equal(result?.status, 'gone')
    assert.equal(result?.status, 'settled')
    one.decided += 1
  }

  async passTime(): Promise<void> {
    await this.ports.clock.advance(this.below(leaseMs))
    if (this.below(3) === 0) await this.backend.sweep()
    if (this.below(10) === 0) await this.reopen()
  }

  async look(): Promise<void> {
    const { items } = await this.inboxes.list({ queue, limit: 100 })
    const expected = this.known.flatMap((one) => {
      if (one.decided > 0) return []
      const live = this.live(one)
      const state = live === undefined ? 'waiting' : live.by === null ? 'leased' : 'claimed'
      return [[one.id, state, live?.by ?? null, one.received]]
    })
    const shown = items.map(({ message, state, claim }) => [
      message.id,
      state,
      claim?.by ?? null,
      message.receiveCount,
    ])
    assert.deepEqual(shown, expected)
  }

  /** Somebody acts on a message, with or without the token they last saw there. */
  #asHolder(): {
    readonly one: Known
    readonly request: { queue: string; id: string; by: string; token?: number }
    readonly refusal: string | undefined
  } {
    const one = this.pick(this.known)
    const by = this.pick(people)
    const live = this.live(one)
    const token = this.below(3) === 0 ? (one.lease?.token ?? 1) - 1 : undefined
    const request = { queue, id: one.id, by, ...(token !== undefined && { token }) }
    if (one.decided > 0) return { one, request, refusal: 'gone' }
    if (live?.by === by) {
      return { one, request, refusal: token === undefined ? undefined : 'stale' }
    }
    const isFree = live === undefined
    return { one, request, refusal: isFree && this.#hasLapsed(one, by) ? 'lapsed' : 'not_yours' }
  }

  readonly #lapsedBy = new Map<string, Set<string>>()

  /** Whether the last claim of this person on the message ran out. */
  #hasLapsed({ id, lease }: Known, by: string): boolean {
    if (lease?.by === by) return !lease.ended
    return this.#lapsedBy.get(id)?.has(by) ?? false
  }

  #taken(one: Known, lease: Pick<Lease, 'by' | 'token' | 'receipt'>): void {
    const before = one.lease
    assert.ok(lease.token > (before?.token ?? 0))
    const lapsed = this.#lapsedBy.get(one.id) ?? new Set()
    this.#lapsedBy.set(one.id, lapsed)
    if (before?.by && !before.ended) lapsed.add(before.by)
    else if (before?.by) lapsed.delete(before.by)
    if (lease.by !== null) lapsed.delete(lease.by)
    one.lease = { ...lease, until: this.now + leaseMs, ended: false }
    one.received += 1
  }
}

/** Claims follow each other: one ends before the next begins, and only its holder does anything. */
function assertWellFormed(history: readonly InboxEvent[]): void {
  let holder: string | null = null
  let last = 0
  for (const { event, by, at } of history) {
    assert.ok(at >= last, 'times go forward')
    last = at
    if (event === 'noted') continue
    if (event === 'claimed') assert.equal(holder, null)
    else assert.equal(holder, by, event)
    if (event === 'claimed') holder = by
    else if (event !== 'renewed') holder = null
  }
}

async function runSeed(seed: number): Promise<void> {
  const folder = await temporaryFolder('inboxes')
  const ports = virtualPorts(seed)
  const file = folder.file('millrace.db')
  let backend = await openSqlite({ file, ports })
  await backend.createQueue({ queue })
  const messages = Array.from({ length: messageCount }, (_, at) => ({ body: `m${at}` }))
  const results = await backend.send({ queue, messages })
  const ids = results.map((result) => (result.status === 'created' ? result.id : ''))
  const run = new Run(ports, backend, ids, async () => {
    await backend.close()
    backend = await openSqlite({ file, ports })
    return backend
  })
  for (let step = 0; step < steps; step += 1) await run.step()
  await run.look()
  for (const { id, decided } of run.known) {
    assert.ok(decided <= 1)
    const history = await run.inboxes.history({ queue, id })
    assertWellFormed(history)
    assert.ok(history.filter(({ event }) => event === 'resolved').length <= decided)
  }
  await backend.close()
  assertSoundStore(file)
  await folder.remove()
}

describe('people and programs at one queue', () => {
  test.each(Array.from({ length: 40 }, (_, at) => at + 1))(
    'are told what is so, and decide each message once (seed %i)',
    runSeed,
  )
})
