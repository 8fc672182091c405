/**
 * Jobs and plain messages in one queue: what waits there expires in its own time, whichever row lies
 * before it and whenever the store looks. One store sweeps after every step, the other one never does.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Page, PeekedMessage } from '../../src/backends/backend.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { seed } from '../support/seed.ts'
import { Chances } from './chances.ts'
import { JobStores, sides } from './job-stores.ts'
import { sqliteEngine } from './sqlite-engine.ts'

const second = 1_000
const minute = 60 * second
const never = Number.POSITIVE_INFINITY

interface Waiting {
  readonly body: string
  readonly isJob: boolean
  /** When the retention of a plain message begins. */
  readonly keptFrom: number
  readonly dueAt: number
  /** Of a job. */
  readonly expiresAt: number
  readonly isDeadLetter: boolean
  readonly order: number
}

class MixedRun {
  readonly #stores: JobStores
  readonly #chances: Chances
  readonly #queue: string
  readonly #dead: string
  readonly steps: string[] = []
  #waiting: Waiting[] = []
  #expired = 0
  #order = 0
  #retentionMs = 2 * minute
  readonly #deadRetentionMs = 3 * minute

  constructor(stores: JobStores, chances: Chances, run: number) {
    this.#stores = stores
    this.#chances = chances
    this.#queue = `mixed-${run}`
    this.#dead = `mixed-${run}-dead`
  }

  async run(steps: number): Promise<void> {
    await this.#stores.both(async ({ backend }) => {
      const retentionMs = this.#deadRetentionMs
      await backend.createQueue({ queue: this.#dead, settings: { retentionMs } })
      const deadLetter = { queue: this.#dead, maxReceives: 100 }
      const settings = { retentionMs: this.#retentionMs, deadLetter }
      await backend.createQueue({ queue: this.#queue, settings })
    })
    for (let step = 0; step < steps; step += 1) {
      await this.#chances.take([
        [6, () => this.#send()],
        [6, () => this.#enqueue()],
        [3, () => this.#settle('acknowledge')],
        [3, () => this.#settle('deadLetter')],
        [2, () => this.#sendDead()],
        [2, () => this.#changeRetention()],
        [2, () => this.#hold()],
        [2, () => this.#lift()],
        [8, () => this.#advance(this.#chances.pick([second, 30 * second, minute, 16 * minute]))],
        [1, () => this.#stores.sweep('lazy')],
      ])
      await this.#stores.sweep('eager')
      await this.#compare()
    }
    await this.#lift()
  }

  get #now(): number {
    return this.#stores.now
  }

  #expiryOf({ isJob, isDeadLetter, keptFrom, expiresAt }: Waiting): number {
    if (isDeadLetter) return keptFrom + this.#deadRetentionMs
    return isJob ? expiresAt : keptFrom + this.#retentionMs
  }

  #applyElapsedTime(): void {
    const kept = this.#waiting.filter((one) => this.#expiryOf(one) > this.#now)
    const gone = this.#waiting.filter((one) => !kept.includes(one))
    this.#expired += gone.filter(({ isDeadLetter }) => !isDeadLetter).length
    this.#waiting = kept
  }

  #add(given: Partial<Waiting>): void {
    this.#order += 1
    const order = this.#order
    const times = { keptFrom: this.#now, dueAt: this.#now, expiresAt: never, order }
    this.#waiting.push({ ...times, body: '', isJob: false, isDeadLetter: false, ...given })
  }

  async #send(): Promise<void> {
    const body = `plain ${this.#order}`
    const delayMs = this.#chances.pick([0, 0, 0, 20 * second, 16 * minute])
    this.steps.push(`send '${body}' in ${delayMs}`)
    const dueAt = this.#now + delayMs
    await this.#stores.both(({ backend }) =>
      backend.send({ queue: this.#queue, messages: [{ body, delayMs }] }),
    )
    this.#add({ body, dueAt, keptFrom: delayMs > 15 * minute ? dueAt : this.#now })
  }

  /** Straight to the dead letters, where its place is behind all others. */
  async #sendDead(): Promise<void> {
    const body = `sent dead ${this.#order}`
    this.steps.push(`send '${body}' to the dead letters`)
    await this.#stores.both(({ backend }) =>
      backend.send({ queue: this.#dead, messages: [{ body }] }),
    )
    this.#add({ body, isDeadLetter: true })
  }

  async #enqueue(): Promise<void> {
    const body = `"job ${this.#order}"`
    const delayMs = this.#chances.pick([0, 0, 0, 20 * second, 16 * minute])
    const expiresAfterMs = this.#chances.pick([undefined, undefined, minute, 3 * minute])
    this.steps.push(`enqueue ${body} in ${delayMs}, expires after ${expiresAfterMs}`)
    const dueAt = this.#now + delayMs
    const job = { type: 'OCR', payload: body, maxAttempts: 3, delayMs }
    const limited = expiresAfterMs === undefined ? job : { ...job, expiresAfterMs }
    await this.#stores.both(({ jobs }) => jobs.enqueue({ queue: this.#queue, jobs: [limited] }))
    this.#add({ body, isJob: true, dueAt, expiresAt: dueAt + (expiresAfterMs ?? never) })
  }

  async #settle(kind: 'acknowledge' | 'deadLetter'): Promise<void> {
    const max = this.#chances.pick([1, 2, 5])
    const outcome = kind === 'acknowledge' ? { kind } : { kind, reason: 'broken' }
    const bodies = await this.#stores.both(async ({ backend }) => {
      const received = await backend.receive({ queue: this.#queue, max, waitMs: 0 })
      const settlements = received.map(({ receipt }) => ({ receipt, outcome }))
      if (received.length > 0) await backend.settle({ queue: this.#queue, settlements })
      return received.map(({ body }) => body)
    })
    this.steps.push(`${kind} ${bodies.eager.join(', ')}`)
    assert.deepEqual(bodies.lazy, bodies.eager)
    for (const one of this.#waiting.filter(({ body }) => bodies.eager.includes(body))) {
      assert.ok(one.dueAt <= this.#now, `${one.body} was not due`)
      this.#waiting = this.#waiting.filter((other) => other !== one)
      if (kind === 'acknowledge') continue
      const keptFrom = one.isJob ? this.#now : one.keptFrom
      this.#waiting.push({ ...one, isDeadLetter: true, keptFrom })
    }
    this.#applyElapsedTime()
  }

  async #changeRetention(): Promise<void> {
    this.#retentionMs = this.#chances.pick([minute, 2 * minute, 5 * minute])
    this.steps.push(`keep for ${this.#retentionMs}`)
    await this.#stores.both(({ backend }) =>
      backend.changeQueue({ queue: this.#queue, changes: { retentionMs: this.#retentionMs } }),
    )
    this.#applyElapsedTime()
  }

  /** A receive puts all that is ready into a bucket. */
  async #hold(): Promise<void> {
    this.steps.push('hold jobs, and receive')
    const target = { scope: 'type', value: 'OCR' } as const
    await this.#stores.both(async ({ switches, backend }) => {
      await switches.set({ ...target, mode: 'hold', by: 'run' })
      const [plain] = await backend.receive({ queue: this.#queue, max: 1, waitMs: 0 })
      if (plain === undefined) return
      const settlement = { receipt: plain.receipt, outcome: { kind: 'release' } as const }
      await backend.settle({ queue: this.#queue, settlements: [settlement] })
    })
  }

  async #lift(): Promise<void> {
    this.steps.push('lift')
    await this.#stores.both(({ switches }) =>
      switches.lift({ scope: 'type', value: 'OCR', by: 'run' }),
    )
  }

  async #advance(ms: number): Promise<void> {
    this.steps.push(`advance ${ms}`)
    await this.#stores.advance(ms)
    this.#applyElapsedTime()
  }

  async #compare(): Promise<void> {
    const own = this.#waiting.filter(({ isDeadLetter }) => !isDeadLetter)
    const ready = own.filter(({ dueAt }) => dueAt <= this.#now)
    const expected = { ready: ready.length, leased: 0, delayed: own.length - ready.length }
    const dead = this.#waiting.filter(({ isDeadLetter }) => isDeadLetter)
    for (const side of sides) {
      const { backend } = this.#stores.store(side)
      const statistics = await backend.queueStatistics({ queue: this.#queue })
      const { ready: readyNow, leased, delayed, totals } = statistics
      assert.deepEqual({ ready: readyNow, leased, delayed }, expected, side)
      assert.equal(totals.expired, this.#expired, `${side}: expired`)
      const ofDead = await backend.queueStatistics({ queue: this.#dead })
      assert.equal(ofDead.ready, dead.length, `${side}: dead letters`)
    }
    if (!this.#chances.is(0.2)) return
    for (const side of sides) {
      const { backend } = this.#stores.store(side)
      const seen: string[] = []
      for (let after: string | undefined = '0-0'; after !== undefined; ) {
        const request = { queue: this.#queue, state: 'ready', limit: 2, after } as const
        const page: Page<PeekedMessage> = await backend.peek(request)
        seen.push(...page.items.map(({ body }) => body))
        after = page.next
      }
      const bodies = ready.map(({ body }) => body)
      assert.deepEqual(seen, bodies, `${side}: peek`)
    }
  }
}

describe('jobs and plain messages in one queue, against a plain model', () => {
  test(`expire in their own times, seeds ${seed} to ${seed + 59}`, async () => {
    const engines = { eager: await sqliteEngine(), lazy: await sqliteEngine() }
    const stores = new JobStores(engines)
    for (let index = 0; index < 60; index += 1) {
      const run = new MixedRun(stores, new Chances(seededRandomness(seed + index)), index)
      try {
        await run.run(40)
      } catch (error) {
        const story = run.steps.slice(-40).join('\n')
        throw new Error(`MILLRACE_SEED=${seed + index}, after\n${story}`, { cause: error })
      }
    }
    for (const engine of Object.values(engines)) {
      await engine.close()
      await engine.remove()
    }
  })
})
