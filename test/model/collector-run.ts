/**
 * Takes random steps over collectors, crashes included, and holds the engine against the plain model
 * after each: J4 (one batch per key, each item merged once and in order) and S1 (nothing is lost).
 */
import assert from 'node:assert/strict'
import type { Backend, Outcome, PeekedMessage } from '../../src/backends/backend.ts'
import type { BatchResult, CollectorStore } from '../../src/backends/collector-store.ts'
import type { MessageState } from '../../src/core/message.ts'
import type { Randomness } from '../../src/core/ports.ts'
import { Chances } from './chances.ts'
import { assertMergedOnce, bodyOf } from './collector-merged.ts'
import { CollectorModel, leaseMs, type ModelLease, maxReceives } from './collector-model.ts'
import type { Faults, Tried } from './commit-faults.ts'
import type { Engine } from './engine-run.ts'

const collector = 'app-dev-talks'
const windowMs = 5_000

export interface CollectorRunSetup {
  readonly engine: Engine
  readonly faults: Faults
  readonly randomness: Randomness
  /** Unique among the runs of a store. */
  readonly run: string
}

export async function prepareQueues(backend: Backend): Promise<void> {
  const settings = { visibilityMs: leaseMs, retentionMs: 1_209_600_000 }
  for (const queue of ['dead', 'merged']) await backend.createQueue({ queue, settings })
  const deadLetter = { queue: 'dead', maxReceives }
  await backend.createQueue({ queue: 'triggers', settings: { ...settings, deadLetter } })
}

export class CollectorRun {
  readonly #chances: Chances
  readonly #setup: CollectorRunSetup
  readonly #model: CollectorModel
  readonly #keys: readonly string[]
  readonly #maxItems: number
  readonly #maxWaitMs: number | undefined
  #bodies = 0
  /** Nobody but the engine has sent triggers so far, or taken any away. */
  #isUntouched = true
  /** What was done, for the one who reads about a failure. */
  readonly steps: string[] = []

  constructor(setup: CollectorRunSetup) {
    this.#setup = setup
    this.#chances = new Chances(setup.randomness)
    // Short memories let an id come back as another item.
    const rememberMs = this.#pick([0, windowMs, 86_400_000])
    this.#model = new CollectorModel(setup.engine.clock.now(), rememberMs)
    this.#keys = ['a', 'b:c', 'd"'].map((key) => `${setup.run} ${key}`)
    this.#maxItems = this.#pick([2, 3, 100])
    this.#maxWaitMs = this.#pick([undefined, 2 * windowMs])
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      await this.#step(this.#isChance(0.1) ? this.#pick(this.#setup.faults.kinds) : undefined)
      await this.#compare()
    }
    await this.#heal()
  }

  get #backend(): Backend {
    return this.#setup.engine.backend()
  }

  get #collectors(): CollectorStore {
    const { collectors } = this.#backend
    assert.ok(collectors !== null)
    return collectors
  }

  async #step(fault: string | undefined): Promise<void> {
    await this.#chances.take([
      [20, () => this.#add(fault)],
      [12, () => this.#receive(fault)],
      [12, () => this.#begin(fault)],
      [14, () => this.#end(fault)],
      [4, () => this.#fail(fault)],
      [1, () => this.#acknowledgeAlone(fault)],
      [2, () => this.#extend(fault)],
      [3, () => this.#flush(fault)],
      [2, () => this.#sendByHand(fault)],
      [1, () => this.#redrive()],
      [2, () => this.#repair(fault)],
      [0.5, () => this.#purge(fault)],
      [8, () => this.#advance(this.#pick([500, windowMs, leaseMs, leaseMs + 1]))],
      [2, () => this.#sweep()],
      [1, () => this.#reopen()],
    ])
  }

  async #add(fault: string | undefined): Promise<void> {
    const key = this.#pick(this.#keys)
    const count = this.#pick([1, 1, 2, 3])
    const items = Array.from({ length: count }, () => {
      this.#bodies += 1
      const order = this.#pick([0, 0, 1, 2, -1])
      return { id: this.#pick(['p', 'q', 'r', 's', 't', 'u']), body: `"${this.#bodies}"`, order }
    })
    const maxWait = this.#maxWaitMs !== undefined && { maxWaitMs: this.#maxWaitMs }
    const request = {
      collector,
      key,
      items,
      trigger: { queue: 'triggers', message: { body: key } },
      windowMs: this.#pick([0, windowMs, windowMs]),
      ...maxWait,
      maxItems: this.#maxItems,
      maxBytes: 1_000_000,
      rememberMs: this.#model.rememberMs,
    }
    const what = `add ${items.map(({ id, body }) => `${id}${body}`).join(' ')} to ${key}`
    const { isKept, answer } = await this.#tried(what, fault, () => this.#collectors.add(request))
    if (!isKept) return
    const expected = items.map((item) => {
      const status = this.#model.isDuplicate(key, item.id) ? 'duplicate' : 'staged'
      if (status === 'staged') this.#model.add({ key, ...item })
      return { id: item.id, status }
    })
    if (answer !== undefined) assert.deepEqual(answer, expected)
  }

  async #receive(fault: string | undefined): Promise<void> {
    const request = { queue: 'triggers', max: this.#pick([1, 1, 3]), waitMs: 0 }
    const { isKept, answer: deliveries } = await this.#tried('receive', fault, () =>
      this.#backend.receive(request),
    )
    for (const { receipt, sequence, body } of deliveries ?? []) {
      this.#model.received({ receipt, message: sequence, key: body })
    }
    if (isKept && deliveries === undefined) await this.#lostReceive()
  }

  /** Leases that were given out to a caller who has crashed are held by nobody, and lapse. */
  async #lostReceive(): Promise<void> {
    // Which messages they were, only the engine knows: earlier leases of them are over.
    for (const lease of this.#model.leases.filter(({ isOver }) => !isOver)) {
      const receipts = [lease.receipt]
      const [state] = await this.#backend.leaseStates({ queue: 'triggers', receipts })
      if (state === 'stale') lease.isOver = true
    }
    await this.#advance(leaseMs)
  }

  async #begin(fault: string | undefined): Promise<void> {
    const lease = this.#anyLease()
    if (lease === undefined) return
    const { key, receipt } = lease
    const usedUp = await this.#usedUp()
    const { isKept, answer } = await this.#tried(`begin ${receipt}`, fault, () =>
      this.#beginWith(lease),
    )
    if (!isKept) return
    const isLive = this.#model.isLive(lease)
    const isHolder = this.#model.batches.get(key)?.lease === lease
    if (isLive && !isHolder) this.#model.keep(usedUp, key)
    const other = this.#model.running(key)
    const isBusy = other !== undefined && other.lease !== lease
    if (answer === undefined) {
      // Who has begun a batch may ask for it again.
      if (isLive && !isBusy) this.#begun(lease, await this.#beginWith(lease))
    } else if (!isLive) {
      assert.ok(['gone', 'stale', 'lapsed'].includes(answer.status), `J4: ${answer.status}`)
    } else if (isBusy && this.#model.unmerged(key).length > 0) {
      assert.equal(answer.status, 'busy', 'J4: a second batch of a key')
    } else this.#begun(lease, answer)
  }

  #beginWith({ key, receipt }: ModelLease): Promise<BatchResult> {
    const maxItems = this.#maxItems
    const request = { collector, key, queue: 'triggers', receipt, maxBytes: 1_000_000, maxItems }
    return this.#collectors.begin(request)
  }

  /** What begins is the batch of before, what is staged, or a batch that is kept, and never a mixture. */
  #begun(lease: ModelLease, answer: BatchResult): void {
    const { key } = lease
    const before = this.#model.batches.get(key)
    const candidates =
      before?.lease === lease ? [before.items] : this.#model.candidates(key, this.#maxItems)
    if (answer.status === 'nothing') {
      // A trigger that nothing is kept with leaves kept batches alone.
      assert.deepEqual(this.#model.staged(key), [], 'S1: nothing, though items wait')
      return
    }
    assert.ok(answer.status === 'begun', `S1: ${answer.status} though items wait`)
    const bodies = JSON.stringify(answer.items.map(bodyOf))
    const items = candidates.find((one) => JSON.stringify(one.map(bodyOf)) === bodies)
    assert.ok(items !== undefined, `J4: ${bodies} are other items, or in another order`)
    this.#model.begin(lease, items)
  }

  /** Triggers that will not be given out again, though nobody has moved them yet. */
  async #usedUp(): Promise<ReadonlySet<number>> {
    const states = ['ready', 'leased', 'delayed'] as const
    const found = await Promise.all(states.map((state) => this.#peek('triggers', state)))
    const live = new Set(this.#model.leases.filter((one) => this.#model.isLive(one)).map(messageOf))
    const left = found.flat().filter(({ receiveCount }) => receiveCount >= maxReceives)
    return new Set(left.map(({ sequence }) => sequence).filter((sequence) => !live.has(sequence)))
  }

  async #peek(queue: string, state: MessageState): Promise<readonly PeekedMessage[]> {
    return (await this.#backend.peek({ queue, state, limit: 1_000 })).items
  }

  async #end(fault: string | undefined): Promise<void> {
    const lease = this.#pickOf([...this.#model.batches.values()])?.lease ?? this.#anyLease()
    if (lease === undefined) return
    await this.#endBatch(lease, fault)
  }

  async #endBatch(lease: ModelLease, fault?: string): Promise<void> {
    const { key, receipt } = lease
    const items = this.#model.batches.get(key)?.items ?? []
    const body = JSON.stringify(items.map(bodyOf))
    const { isKept, answer } = await this.#tried(`end ${receipt}`, fault, () =>
      this.#settle(receipt, { kind: 'acknowledge' }, { key, body }),
    )
    if (!isKept) return
    const mayEnd = this.#model.mayEnd(lease)
    if (answer !== undefined) {
      assert.equal(answer.status === 'settled', mayEnd, `J4: ${answer.status} for a batch`)
    }
    if (mayEnd) this.#model.end(lease)
  }

  async #settle(
    receipt: string,
    outcome: Outcome,
    merged?: { readonly key: string; readonly body: string },
  ): Promise<{ readonly status: string }> {
    const batch = merged && {
      emits: [{ queue: 'merged', message: { body: merged.body } }],
      batch: { collector, key: merged.key },
    }
    const settlements = [{ receipt, outcome, ...batch }]
    const [answer] = await this.#backend.settle({ queue: 'triggers', settlements })
    assert.ok(answer !== undefined)
    return answer
  }

  async #fail(fault: string | undefined): Promise<void> {
    const lease = this.#anyLease()
    if (lease === undefined) return
    const outcome: Outcome = this.#pick([
      { kind: 'retry', delayMs: 0 },
      { kind: 'retry', delayMs: 3_000 },
      { kind: 'release' },
      { kind: 'deadLetter', reason: 'broken' },
    ] as const)
    const what = `${outcome.kind} ${lease.receipt}`
    const { isKept, answer } = await this.#tried(what, fault, () =>
      this.#settle(lease.receipt, outcome),
    )
    if (!isKept) return
    const isLive = this.#model.isLive(lease)
    if (answer !== undefined) assert.equal(answer.status === 'settled', isLive)
    if (isLive) lease.isOver = true
  }

  /** As a program does that knows nothing of collectors. */
  async #acknowledgeAlone(fault: string | undefined): Promise<void> {
    const lease = this.#anyLease()
    if (lease === undefined) return
    const acknowledge: Outcome = { kind: 'acknowledge' }
    this.#isUntouched = false
    const { isKept } = await this.#tried(`acknowledge ${lease.receipt}`, fault, () =>
      this.#settle(lease.receipt, acknowledge),
    )
    if (isKept) lease.isOver = true
  }

  async #extend(fault: string | undefined): Promise<void> {
    const lease = this.#anyLease()
    if (lease === undefined) return
    const leases = [{ receipt: lease.receipt, visibilityMs: leaseMs }]
    const { isKept } = await this.#tried(`extend ${lease.receipt}`, fault, () =>
      this.#backend.extend({ queue: 'triggers', leases }),
    )
    if (isKept && this.#model.isLive(lease)) lease.expiresAt = this.#model.now + leaseMs
  }

  async #flush(fault: string | undefined): Promise<void> {
    const key = this.#pick(this.#keys)
    const runningBucket = this.#model.running(key)?.items.length ?? 0
    const expected = this.#model.unmerged(key).length > runningBucket
    const { answer } = await this.#tried(`flush ${key}`, fault, () =>
      this.#collectors.flush({ collector, key }),
    )
    if (answer !== undefined) assert.equal(answer, expected)
  }

  async #sendByHand(fault: string | undefined): Promise<void> {
    const messages = [{ body: this.#pick(this.#keys) }]
    this.#isUntouched = false
    await this.#tried('send a trigger', fault, () =>
      this.#backend.send({ queue: 'triggers', messages }),
    )
  }

  async #redrive(): Promise<void> {
    this.steps.push('redrive')
    this.#isUntouched = false
    await this.#backend.startMoveTask({ source: 'dead' }).catch(() => undefined)
    await this.#sweep()
  }

  async #repair(fault: string | undefined): Promise<void> {
    const overdueMs = this.#pick([0, windowMs])
    await this.#tried('repair', fault, () => this.#collectors.repair({ overdueMs, limit: 10 }))
  }

  async #purge(fault: string | undefined): Promise<void> {
    this.#isUntouched = false
    const { isKept } = await this.#tried('purge', fault, () =>
      this.#backend.purgeQueue({ queue: 'triggers' }),
    )
    if (isKept) this.#model.purge()
  }

  async #advance(ms: number): Promise<void> {
    this.steps.push(`${ms} ms pass`)
    await this.#setup.engine.clock.advance(ms)
    this.#model.now += ms
  }

  async #sweep(): Promise<void> {
    while ((await this.#backend.sweep()).more);
  }

  async #reopen(): Promise<void> {
    this.steps.push('reopen')
    await this.#setup.engine.reopen()
  }

  async #tried<T>(
    what: string,
    fault: string | undefined,
    call: () => Promise<T>,
  ): Promise<Tried<T>> {
    this.steps.push(fault === undefined ? what : `${what}, with the fault ${fault}`)
    return this.#setup.faults.during(fault, call)
  }

  async #noteDead(): Promise<void> {
    const dead = await this.#peek('dead', 'ready')
    this.#model.keep(new Set(dead.map(({ sequence }) => sequence)))
  }

  /** What the store shows of each key is what the model knows of it. */
  async #compare(): Promise<void> {
    await this.#noteDead()
    for (const key of this.#keys) {
      const found = await this.#collectors.read({ collector, key, limit: 100 })
      const running = this.#model.running(key)?.items ?? []
      const waiting = this.#model.unmerged(key).filter((item) => !running.includes(item))
      const staged = waiting.filter(({ keptIn }) => keptIn === null)
      const kept = waiting.filter(({ keptIn }) => keptIn !== null)
      const shown = {
        items: found?.items.map(bodyOf) ?? [],
        kept: found?.keptItems.map(bodyOf).toSorted() ?? [],
        keptCount: found?.kept ?? 0,
        running: found?.running ?? 0,
      }
      const expected = {
        items: staged.map(bodyOf),
        kept: kept.map(bodyOf).toSorted(),
        keptCount: kept.length,
        running: running.length,
      }
      assert.deepEqual(shown, expected, `S1: other items than the model has in ${key}`)
      const isStranded = waiting.length > 0 && running.length === 0 && found?.trigger === 'none'
      assert.ok(!(isStranded && this.#isUntouched), `S1: nothing will ever merge ${key}`)
    }
  }

  /** No more faults: with workers that do their work, everything is merged and nothing is left. */
  async #heal(): Promise<void> {
    this.steps.push('heal')
    for (let round = 0; round < 30; round += 1) {
      await this.#advance(leaseMs + windowMs)
      if (!this.#hasUnmerged() && (await this.#triggersLeft()) === 0) break
      await this.#redrive()
      await this.#collectors.repair({ overdueMs: 0, limit: 100 })
      await this.#workAll()
    }
    await this.#compare()
    assert.equal(this.#hasUnmerged(), false, 'S1: items were never merged')
    assert.equal(await this.#triggersLeft(), 0, 'triggers are left')
    const { items: left } = await this.#collectors.list({ limit: 10 })
    assert.deepEqual(left, [], 'keys are left')
    await assertMergedOnce(this.#backend, this.#model.items)
  }

  async #workAll(): Promise<void> {
    const deliveries = await this.#backend.receive({ queue: 'triggers', max: 100, waitMs: 0 })
    await this.#noteDead()
    const leases = deliveries.map(({ receipt, sequence: message, body: key }) =>
      this.#model.received({ receipt, message, key }),
    )
    for (const lease of leases) {
      this.#model.keep(await this.#usedUp(), lease.key)
      const answer = await this.#beginWith(lease)
      if (answer.status === 'begun') {
        this.#begun(lease, answer)
        await this.#endBatch(lease)
      } else await this.#settle(lease.receipt, { kind: 'acknowledge' })
    }
  }

  #hasUnmerged(): boolean {
    return this.#model.items.some(({ mergedAt }) => mergedAt === null)
  }

  async #triggersLeft(): Promise<number> {
    const { ready, leased, delayed } = await this.#backend.queueStatistics({ queue: 'triggers' })
    return ready + leased + delayed
  }

  #anyLease(): ModelLease | undefined {
    // Recent ones more often than those that ended long ago.
    return this.#pickOf(this.#model.leases.slice(-4))
  }

  #isChance(chance: number): boolean {
    return this.#setup.randomness.next() < chance
  }

  #pickOf<T>(choices: readonly T[]): T | undefined {
    return choices[Math.floor(this.#setup.randomness.next() * choices.length)]
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#setup.randomness.next() * choices.length)] as T
  }
}

function messageOf({ message }: ModelLease): number {
  return message
}
