/** Takes random steps with the leases of jobs, on both stores and on the plain model. */
import assert from 'node:assert/strict'
import type { Delivery, Outcome } from '../../src/backends/backend.ts'
import type { Spending } from '../../src/backends/budget-store.ts'
import type { Failure } from '../../src/core/failure.ts'
import { isFinished } from '../../src/core/job-state.ts'
import type { LogLine } from '../../src/core/log-line.ts'
import type { Chances } from './chances.ts'
import { checkOrder, checkRates, checkRest } from './job-claim-checks.ts'
import {
  errors,
  isUsedUp,
  type JobModel,
  type ModelJob,
  type ModelLease,
  type ModelQueue,
} from './job-model.ts'
import { type JobStores, type OfBoth, sides } from './job-stores.ts'

const second = 1_000

export interface JobLeasesSetup {
  readonly stores: JobStores
  readonly model: JobModel
  readonly chances: Chances
  /** Says what is done. */
  readonly note: (step: string) => void
}

interface Claim {
  readonly max: number
  readonly visibilityMs: number
}

interface Held {
  readonly job: ModelJob
  readonly lease: ModelLease
  readonly receipts: OfBoth<string>
}

interface Spent {
  readonly spent?: readonly Spending[]
}

function sumOf({ spent = [] }: Spent): number {
  return spent.reduce((sum, { amount }) => sum + amount, 0)
}

export class JobLeases {
  readonly #stores: JobStores
  readonly #model: JobModel
  readonly #chances: Chances
  readonly #note: (step: string) => void
  #held: readonly Held[] = []

  constructor({ stores, model, chances, note }: JobLeasesSetup) {
    this.#stores = stores
    this.#model = model
    this.#chances = chances
    this.#note = note
  }

  /** Receipts of a queue that was deleted are none of the one that has its name. */
  forget(queue: ModelQueue): void {
    this.#held = this.#held.filter(({ job }) => job.queue !== queue)
  }

  async receive(queue: ModelQueue, fixed?: Claim): Promise<void> {
    const { max, visibilityMs } = fixed ?? {
      max: this.#chances.pick([1, 2, 3]),
      visibilityMs: this.#chances.pick([0, 2 * second, 10 * second, 90 * second]),
    }
    this.#note(`receive ${max} from ${queue.name} for ${visibilityMs}`)
    // Each process remembers whose turn it is.
    const deliveries = await this.#stores.byOneProcess(({ backend }) =>
      backend.receive({ queue: queue.name, max, visibilityMs, waitMs: 0 }),
    )
    const taken = deliveries.eager.map((delivery) => this.#stores.jobOf(delivery.job?.id, 'eager'))
    assert.deepEqual(
      deliveries.lazy.map((delivery) => this.#stores.jobOf(delivery.job?.id, 'lazy').name),
      taken.map(({ name }) => name),
      'the stores took different jobs',
    )
    this.#note(`  took ${taken.map(({ name }) => name).join(', ')}`)
    checkOrder(this.#model, queue, taken)
    const before = this.#model.claimable(queue)
    for (const [index, job] of taken.entries()) {
      assert.ok(before.includes(job), `${job.name} could not be claimed`)
      assert.equal(this.#model.stoppedBy(job), undefined, job.name)
      this.#model.claim(job, visibilityMs)
      this.#checkDelivery(job, index, deliveries)
    }
    checkRates(this.#model, queue)
    // Leases that end at once have counted for those who came after them in the same receive.
    const { rate, perKey } = queue.ceilings
    const isRated = rate !== null || perKey.some((one) => one.rate !== null)
    const hasFoundAll = taken.length < max && visibilityMs > 0 && !isRated
    if (hasFoundAll) checkRest(this.#model, before)
    await this.#noteSetAside(before)
  }

  #checkDelivery(job: ModelJob, index: number, deliveries: OfBoth<readonly Delivery[]>): void {
    const lostBefore = job.history.some(
      ({ attempt, outcome }) => attempt === job.attemptsMade - 1 && outcome === 'lapsed',
    )
    const receipts = { eager: '', lazy: '' }
    for (const side of sides) {
      const delivery = deliveries[side][index]
      assert.deepEqual(
        [delivery?.job?.attempt, delivery?.job?.lostBefore, delivery?.body],
        [job.attemptsMade, lostBefore, job.payload],
        `${side}: ${job.name}`,
      )
      receipts[side] = delivery?.receipt ?? ''
    }
    const { lease } = job
    if (lease !== undefined) this.#held = [...this.#held, { job, lease, receipts }]
  }

  /** Which of those that may not be tried are met by a claim depends on the order in which it looks. */
  async #noteSetAside(before: readonly ModelJob[]): Promise<void> {
    for (const job of before) {
      const isDiverted = this.#model.stoppedBy(job) === 'diverted'
      if (isFinished(job.status) || (!isUsedUp(job) && !isDiverted)) continue
      const records = await this.#stores.both(({ jobs }, side) =>
        jobs.read({ id: this.#stores.idOf(job, side) }),
      )
      assert.equal(records.lazy?.status, records.eager?.status, `set aside: ${job.name}`)
      if (records.eager?.status !== 'failed') continue
      const { error } = records.eager
      if (isUsedUp(job)) assert.equal(error, errors.lost, job.name)
      else assert.match(error ?? '', /^Diverted by the kill switch/, job.name)
      this.#model.fail(job, error ?? '')
    }
  }

  async settle(): Promise<void> {
    const held = this.#chances.pick(this.#held.slice(-6))
    if (held === undefined) return
    const { job, lease } = held
    const outcome = this.#chances.pick<Outcome>([
      { kind: 'acknowledge', result: '"done"' },
      { kind: 'acknowledge', result: '"done"' },
      {
        kind: 'retry',
        delayMs: this.#chances.pick([0, 2 * second, 20 * second]),
        error: 'again',
        ...this.#failure(),
      },
      { kind: 'release' },
      { kind: 'deadLetter', reason: 'broken', ...this.#failure() },
    ])
    const logged = this.#logged()
    const spent = this.#spent()
    this.#note(`${outcome.kind} ${job.name}`)
    const answers = await this.#stores.both(async ({ backend }, side) => {
      const settlements = [{ receipt: held.receipts[side], outcome, ...logged, ...spent }]
      const [answer] = await backend.settle({ queue: job.queue.name, settlements })
      return answer?.status
    })
    const isComplete = outcome.kind === 'acknowledge'
    const does = isComplete ? this.#model.mayComplete(job, lease) : this.#model.isLive(job, lease)
    // What is gone cannot be seen to have been a job, which alone needs no place for dead letters.
    const hasNoPlace = outcome.kind === 'deadLetter' && job.queue.deadLetters === null
    const refusal = hasNoPlace && isFinished(job.status) ? 'refused' : this.#refusal(held)
    const expected = does ? 'settled' : refusal
    assert.deepEqual(answers, { eager: expected, lazy: expected })
    if (!does) return
    this.#model.log(job, lease, logged.logs ?? [])
    job.spent += sumOf(spent)
    this.#apply(held, outcome)
  }

  #failure(): { readonly failure?: Failure } {
    if (this.#chances.is(0.5)) return {}
    const message = this.#chances.pick(['one', 'two'])
    return { failure: { name: 'Error', message, stack: 'at f (a.js:1:1)', causes: [] } }
  }

  #logged(): { readonly logs?: readonly LogLine[] } {
    if (this.#chances.is(0.5)) return {}
    const message = this.#chances.pick(['first', 'second'])
    const line: LogLine = { at: this.#model.now, level: 'info', message, fields: {} }
    return { logs: this.#chances.pick([[], [line], [line, { ...line, level: 'warn' }]]) ?? [] }
  }

  #spent(): Spent {
    if (this.#chances.is(0.7)) return {}
    return { spent: [{ budget: 'llm', amount: this.#chances.pick([1, 2]) }] }
  }

  /** Counts for the job also when the lease has ended. */
  async spend(): Promise<void> {
    const held = this.#chances.pick(this.#held.slice(-6))
    if (held === undefined) return
    const { job, receipts } = held
    const amount = this.#chances.pick([0, 1, 2])
    this.#note(`spend ${amount} on ${job.name}`)
    await this.#stores.both(async ({ backend }, side) => {
      const on = { queue: job.queue.name, receipt: receipts[side] }
      await backend.budgets?.spend({ budget: 'llm', amount, on })
    })
    job.spent += amount
  }

  /** Completes all that is held of a queue, in one call. */
  async completeTogether(): Promise<void> {
    const recent = this.#held.slice(-6)
    const queue = this.#chances.pick(recent)?.job.queue
    const together = recent.filter(({ job }) => job.queue === queue)
    if (queue === undefined) return
    this.#note(`complete together ${together.map(({ job }) => job.name).join(', ')}`)
    const outcome: Outcome = { kind: 'acknowledge', result: '"done"' }
    const answers = await this.#stores.both(async ({ backend }, side) => {
      const settlements = together.map(({ receipts }) => ({ receipt: receipts[side], outcome }))
      return (await backend.settle({ queue: queue.name, settlements })).map(({ status }) => status)
    })
    const expected = together.map((held) => {
      if (!this.#model.mayComplete(held.job, held.lease)) return this.#refusal(held)
      this.#apply(held, outcome)
      return 'settled'
    })
    assert.deepEqual(answers, { eager: expected, lazy: expected })
  }

  #apply({ job, lease }: Held, outcome: Outcome): void {
    const model = this.#model
    if (outcome.kind === 'acknowledge') model.complete(job, lease, outcome.result ?? '')
    if (outcome.kind === 'retry') model.retryLater(job, outcome)
    if (outcome.kind === 'release') model.release(job)
    if (outcome.kind === 'deadLetter') {
      model.fail(job, outcome.reason, { failure: outcome.failure })
    }
  }

  /** Why the lease cannot be used, if it cannot. */
  #refusal({ job, lease }: Held): 'gone' | 'stale' | 'lapsed' {
    if (isFinished(job.status)) return 'gone'
    return job.lease === lease ? 'lapsed' : 'stale'
  }

  async extend(): Promise<void> {
    const held = this.#chances.pick(this.#held.slice(-6))
    if (held === undefined) return
    const visibilityMs = this.#chances.pick([0, 3 * second, 20 * second, 90 * second])
    const { job, lease } = held
    this.#note(`extend ${job.name} by ${visibilityMs}`)
    const answers = await this.#stores.both(async ({ backend }, side) => {
      const leases = [{ receipt: held.receipts[side], visibilityMs }]
      const [answer] = await backend.extend({ queue: job.queue.name, leases })
      return answer?.status
    })
    const isLive = this.#model.isLive(job, lease)
    const expected = isLive ? 'extended' : this.#refusal(held)
    assert.deepEqual(answers, { eager: expected, lazy: expected })
    if (isLive) this.#model.extend(lease, job, visibilityMs)
  }

  async reportProgress(): Promise<void> {
    const held = this.#chances.pick(this.#held.slice(-6))
    if (held === undefined) return
    const { job, lease } = held
    const progress = this.#chances.pick([0.25, 0.5])
    const logged = this.#logged()
    const spent = this.#spent()
    this.#note(`${job.name} has come to ${progress}`)
    const answers = await this.#stores.both(async ({ jobs }, side) => {
      const receipt = held.receipts[side]
      const named = await jobs.readReceipt({ queue: job.queue.name, receipt })
      assert.equal(named?.id, this.#stores.idOf(job, side))
      const report = { queue: job.queue.name, receipt, progress, ...logged, ...spent }
      return (await jobs.reportProgress(report)).status
    })
    const isLive = this.#model.isLive(job, lease)
    const expected = isLive ? 'noted' : this.#refusal(held)
    assert.deepEqual(answers, { eager: expected, lazy: expected })
    if (!isLive) return
    job.progress = progress
    job.spent += sumOf(spent)
    this.#model.log(job, lease, logged.logs ?? [])
  }
}
