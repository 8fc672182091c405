/**
 * Random runs through buckets: jobs of several types, tiers, tenants and keys, ceilings that change and
 * kill switches that come and go, on two connections. What holds at every step is checked at every step,
 * and in the end every job was delivered, diverted, or is still there.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { Backend, Delivery } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import type { SwitchScope } from '../../../src/backends/switch-store.ts'
import { type Ceilings, defaultQueueSettings } from '../../../src/core/queue-settings.ts'
import { everyPage } from '../../../src/testing/backend-contract/gate-scene.ts'
import {
  seededRandomness,
  type VirtualPorts,
  virtualPorts,
} from '../../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

const steps = 400
const leaseMs = 20_000
const noCeilings = defaultQueueSettings.ceilings
const perCustomer = { key: 'customer', running: 1, rate: null }
const perRegion = { key: 'region.name', running: 2, rate: null }

/** The store knows the values of keys that had a ceiling when the job was stored. */
function valueAt(body: string, key: string): unknown {
  const { customer, region, known } = JSON.parse(body)
  if (!known.includes(key)) return undefined
  return key === 'customer' ? customer : region.name
}

let folder: TemporaryFolder
let ports: VirtualPorts
let backends: readonly Backend[]

beforeEach(async () => {
  folder = await temporaryFolder('gates-random')
  ports = virtualPorts()
  const open = (): Promise<Backend> => openSqlite({ file: folder.file('store.db'), ports })
  backends = [await open(), await open()]
})

afterEach(async () => {
  for (const backend of backends) await backend.close()
})

interface Held {
  readonly delivery: Delivery
  readonly until: number
}

class Run {
  readonly #randomness: { next(): number }
  readonly #held = new Map<string, Held>()
  readonly #switches = new Set<string>()
  readonly #ended = new Set<string>()
  #ceilings: Ceilings = noCeilings
  #sent = 0

  constructor(seed: number) {
    this.#randomness = seededRandomness(seed)
  }

  async run(): Promise<void> {
    await this.#any(backends).createQueue({ queue: 'dead' })
    await this.#any(backends).createQueue({
      queue: 'q',
      settings: { deadLetter: { queue: 'dead', maxReceives: 1_000 }, visibilityMs: leaseMs },
    })
    const actions = [
      ...Array.from({ length: 4 }, () => () => this.#enqueue()),
      ...Array.from({ length: 6 }, () => () => this.#receive()),
      ...Array.from({ length: 4 }, () => () => this.#settle()),
      () => this.#toggle(),
      () => this.#changeCeilings(),
      () => ports.clock.advance(this.#upTo(leaseMs)),
    ]
    for (let step = 0; step < steps; step += 1) await this.#any(actions)()
    await this.#finish()
  }

  async #enqueue(): Promise<void> {
    const jobs = Array.from({ length: this.#upTo(4) }, () => {
      this.#sent += 1
      return {
        type: this.#any(['A', 'B', 'C']),
        tier: this.#any(['lite', 'premium']),
        payload: JSON.stringify({
          number: this.#sent,
          customer: this.#any([null, 'c1', 'c2', 'c3']),
          region: { name: this.#any(['eu', 'us']) },
          known: this.#ceilings.perKey.map(({ key }) => key),
        }),
        maxAttempts: 1_000,
        ...(this.#upTo(5) > 1 && { tenant: this.#any(['x', 'y', 'z']) }),
      }
    })
    await this.#any(backends).jobs?.enqueue({ queue: 'q', jobs })
  }

  async #receive(): Promise<void> {
    const deliveries = await this.#any(backends).receive({ queue: 'q', max: this.#upTo(5) })
    for (const delivery of deliveries) {
      const { body, group, job } = delivery
      assert.ok(!this.#ended.has(body), `${body} was given out after its end`)
      assert.ok((this.#held.get(body)?.until ?? 0) <= ports.clock.now(), `${body} twice in hand`)
      for (const key of [`type:${job?.type}`, `tier:${job?.tier}`, `tenant:${group}`]) {
        assert.ok(!this.#switches.has(key), `${body} was given out, but ${key} is held`)
      }
      this.#held.set(body, { delivery, until: ports.clock.now() + leaseMs })
    }
    if (deliveries.length > 0) this.#assertCeilings()
  }

  #assertCeilings(): void {
    const now = ports.clock.now()
    const runningBucket = [...this.#held.values()].filter(({ until }) => until > now)
    const count = (fits: (delivery: Delivery) => boolean): number =>
      runningBucket.filter(({ delivery }) => fits(delivery)).length
    const { running, runningPerTenant, runningPerType, perKey } = this.#ceilings
    if (running !== null) assert.ok(runningBucket.length <= running)
    for (const tenant of runningPerTenant === null ? [] : ['x', 'y', 'z']) {
      assert.ok(count(({ group }) => group === tenant) <= (runningPerTenant ?? 0))
    }
    for (const [type, max] of Object.entries(runningPerType)) {
      assert.ok(count(({ job }) => job?.type === type) <= max)
    }
    for (const { key, running: max } of perKey) {
      for (const value of ['c1', 'c2', 'c3', 'eu', 'us']) {
        assert.ok(count(({ body }) => valueAt(body, key) === value) <= (max ?? steps))
      }
    }
  }

  async #settle(): Promise<void> {
    const [held] = [...this.#held].slice(this.#upTo(3) - 1)
    if (held === undefined) return
    const [body, { delivery, until }] = held
    const outcome = this.#any([
      { kind: 'acknowledge' },
      { kind: 'release' },
      { kind: 'retry', delayMs: 0 },
      { kind: 'retry', delayMs: 5_000 },
    ] as const)
    const { receipt } = delivery
    const [result] = await this.#any(backends).settle({
      queue: 'q',
      settlements: [{ receipt, outcome }],
    })
    if (until > ports.clock.now()) assert.equal(result?.status, 'settled')
    if (result?.status === 'settled' && outcome.kind === 'acknowledge') this.#ended.add(body)
    this.#held.delete(body)
  }

  async #toggle(): Promise<void> {
    const [scope, value] = this.#any<readonly [SwitchScope, string]>([
      ['type', 'A'],
      ['tier', 'lite'],
      ['tenant', 'x'],
      ['tenant', 'y'],
    ])
    const key = `${scope}:${value}`
    const { switches } = this.#any(backends)
    if (this.#switches.delete(key)) {
      assert.equal(await switches?.lift({ scope, value, by: 'test' }), true)
    } else {
      this.#switches.add(key)
      await switches?.set({ scope, value, mode: 'hold', by: 'test' })
    }
  }

  /** Once nothing is in hand, because a lower ceiling takes nothing away from whoever has it. */
  async #changeCeilings(): Promise<void> {
    await ports.clock.advance(leaseMs)
    this.#ceilings = this.#any<Ceilings>([
      noCeilings,
      { ...noCeilings, running: 3 },
      { ...noCeilings, runningPerTenant: 1 },
      { ...noCeilings, running: 4, runningPerTenant: 2, runningPerType: { A: 1, B: 2 } },
      { ...noCeilings, runningPerType: { A: 1 } },
      { ...noCeilings, perKey: [perCustomer] },
      { ...noCeilings, runningPerTenant: 2, perKey: [perRegion, perCustomer] },
    ])
    const changes = { ceilings: this.#ceilings }
    await this.#any(backends).changeQueue({ queue: 'q', changes })
  }

  /** With all the gates open, everything that has not ended comes, oldest first. */
  async #finish(): Promise<void> {
    await ports.clock.advance(2 * leaseMs)
    const [backend] = backends
    assert.ok(backend !== undefined)
    await backend.changeQueue({ queue: 'q', changes: { ceilings: noCeilings } })
    for (const { scope, value } of (await backend.switches?.list()) ?? []) {
      await backend.switches?.lift({ scope, value, by: 'test' })
    }
    const { ready } = await backend.queueStatistics({ queue: 'q' })
    const messages = await everyPage((after) =>
      backend.peek({ queue: 'q', state: 'ready', limit: 7, ...after }),
    )
    const peeked = messages.map(({ body }) => body)
    const left: string[] = []
    for (;;) {
      const deliveries = await backend.receive({ queue: 'q', max: 10 })
      if (deliveries.length === 0) break
      left.push(...deliveries.map(({ body }) => body))
      // In hand, they would make their tenants wait for each other.
      const done = { kind: 'acknowledge' } as const
      const settlements = deliveries.map(({ receipt }) => ({ receipt, outcome: done }))
      await backend.settle({ queue: 'q', settlements })
    }
    const all = Array.from({ length: this.#sent }, (_, index) => index + 1)
    const numberOf = (body: string): number => JSON.parse(body).number
    const ended = new Set([...this.#ended].map(numberOf))
    assert.deepEqual(
      left.map(numberOf),
      all.filter((number) => !ended.has(number)),
    )
    assert.deepEqual([peeked, ready], [left, left.length])
  }

  #upTo(max: number): number {
    return Math.floor(this.#randomness.next() * max) + 1
  }

  #any<T>(items: readonly T[]): T {
    const item = items[this.#upTo(items.length) - 1]
    assert.ok(item !== undefined)
    return item
  }
}

describe('random runs through ceilings and kill switches', () => {
  test.each([1, 2, 3, 4, 5, 6])('lose nothing and exceed nothing, seed %i', async (seed) => {
    await new Run(seed).run()
    for (const backend of backends) await backend.close()
    assertSoundStore(folder.file('store.db'))
    await folder.remove()
  })
})
