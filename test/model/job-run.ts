/**
 * Takes random steps over tracked jobs on two stores and on the plain model. One store sweeps after
 * every step, the other one never does unless told: what they answer must not tell which is which.
 */
import assert from 'node:assert/strict'
import type { JobRecord, JobStore, NewJob } from '../../src/backends/job-store.ts'
import type { SwitchTarget } from '../../src/backends/switch-store.ts'
import { isFinished } from '../../src/core/job-state.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import type { Randomness } from '../../src/core/ports.ts'
import type { Ceilings } from '../../src/core/queue-settings.ts'
import { Chances } from './chances.ts'
import { type Engine, outcomeOf } from './engine-run.ts'
import { compareJobs, compareLists } from './job-comparison.ts'
import { JobLeases } from './job-leases.ts'
import {
  JobModel,
  type ModelJob,
  type ModelKey,
  type ModelQueue,
  type ModelSwitch,
  noCeilings,
  type PreparedJob,
} from './job-model.ts'
import { JobStores, type OfBoth, type Side, sides } from './job-stores.ts'

const second = 1_000
const minute = 60 * second
/** After that, nobody knows a job any more. */
const historyMs = 91 * 86_400 * second
const limitsByKey = [
  { ...noCeilings, perKey: [{ key: 'c', running: 1, rate: null }] },
  {
    ...noCeilings,
    perKey: [
      { key: 'r', running: 1, rate: null },
      { key: 'c', running: 2, rate: null },
    ],
  },
  {
    ...noCeilings,
    perKey: [{ key: 'c', running: null, rate: { max: 1, perMs: 10 * second } }],
  },
] as const
const large = 'x'.repeat(2_000)
const payloads = [
  ...['1', '2', `"${large}"`, '{"c":null,"r":1}'],
  ...['{"c":"a"}', '{"c":"a","r":1}', '{"c":"b","r":1}', `{"c":"a","more":"${large}"}`],
] as const
/** Never reached, so that no run pauses another. */
const llm = { budget: 'llm', limit: 1e15, perMs: null, unit: null } as const
const budgets = [{ ...llm, trips: 'LLM_PAUSED', mode: 'hold' }] as const
const scope = 'model/dev'

export interface JobRunSetup {
  readonly engines: OfBoth<Engine>
  readonly randomness: Randomness
  /** Unique among the runs of a store. */
  readonly run: string
}

export class JobRun {
  readonly #chances: Chances
  readonly #model: JobModel
  readonly #queues: readonly ModelQueue[]
  readonly #stores: JobStores
  readonly #leases: JobLeases
  /** What was done, for the one who reads about a failure. */
  readonly steps: string[] = []

  constructor(setup: JobRunSetup) {
    this.#chances = new Chances(setup.randomness)
    this.#stores = new JobStores(setup.engines)
    this.#model = new JobModel(this.#stores.now)
    this.#leases = new JobLeases({
      stores: this.#stores,
      model: this.#model,
      chances: this.#chances,
      note: (step) => this.steps.push(step),
    })
    const queue = (name: string, hasDeadLetters: boolean): ModelQueue => ({
      name: `${setup.run}-${name}`,
      isFifo: name.endsWith('.fifo'),
      deadLetters: hasDeadLetters ? `${setup.run}-${name}-dead` : null,
      retentionMs: 10 * minute,
      ceilings: noCeilings,
      claims: [],
    })
    this.#queues = [queue('work', true), queue('bare', false), queue('line.fifo', false)]
  }

  async run(steps: number): Promise<void> {
    await this.#stores.both(async ({ backend }) => backend.budgets?.declare({ scope, budgets }))
    for (const queue of this.#queues) await this.#create(queue)
    for (let step = 0; step < steps; step += 1) {
      await this.#step()
      await this.#stores.sweep('eager')
      if (this.#chances.is(0.3)) await this.#compare('eager')
      // Whoever reads a job makes the store notice what became of it, so this is rare.
      if (this.#chances.is(0.1)) await this.#compare('lazy')
    }
    await this.#compare('lazy')
    await this.#finish()
  }

  async #step(): Promise<void> {
    await this.#chances.take([
      [12, () => this.#enqueue(this.#anyQueue())],
      [3, () => this.#applyElapsedTime()],
      [16, () => this.#leases.receive(this.#anyQueue())],
      [14, () => this.#leases.settle()],
      [5, () => this.#leases.completeTogether()],
      [4, () => this.#leases.extend()],
      [3, () => this.#leases.reportProgress()],
      [3, () => this.#leases.spend()],
      [
        12,
        () => this.#advance(this.#chances.pick([1, second, 2 * second, 11 * second, 30 * second])),
      ],
      [2, () => this.#advance(minute)],
      [2, () => this.#advance(20 * minute)],
      [3, () => this.#cancel()],
      [4, () => this.#reschedule()],
      [3, () => this.#promote()],
      [3, () => this.#retry()],
      [3, () => this.#setSwitch()],
      [3, () => this.#liftSwitch()],
      [3, () => this.#changeRetention()],
      [4, () => this.#changeCeilings()],
      [2, () => this.#fillKey()],
      [2, () => this.#redrive()],
      [0.7, () => this.#purge()],
      [0.3, () => this.#recreate()],
      [2, () => this.#sweepLazy()],
      [1, () => this.#reopen()],
    ])
  }

  async #create({ name, deadLetters, retentionMs }: ModelQueue): Promise<void> {
    await this.#stores.both(async ({ backend }) => {
      if (deadLetters !== null) {
        await backend.createQueue({ queue: deadLetters, settings: { retentionMs: 1_209_600_000 } })
      }
      const deadLetter = deadLetters === null ? null : { queue: deadLetters, maxReceives: 1 }
      const settings = { deadLetter, retentionMs, visibilityMs: 10 * second }
      await backend.createQueue({ queue: name, settings })
    })
  }

  /** Jobs that were claimed together lapse and are claimed again; then both receivers use their leases. */
  async #applyElapsedTime(): Promise<void> {
    const queue = this.#anyQueue()
    if (queue.isFifo) return
    const plain = { payload: '1', tenant: null, delayMs: 0, maxAttempts: 3 }
    for (let job = 0; job < 3; job += 1) await this.#enqueue(queue, plain)
    const request = { max: 3, visibilityMs: 10 * second }
    await this.#leases.receive(queue, request)
    await this.#advance(11 * second)
    await this.#leases.receive(queue, request)
    await this.#leases.extend()
    await this.#leases.reportProgress()
    await this.#leases.settle()
    await this.#leases.settle()
    await this.#leases.completeTogether()
  }

  async #enqueue(queue: ModelQueue, fixed: Partial<PreparedJob> = {}): Promise<void> {
    const draft: PreparedJob = {
      type: this.#chances.pick(['OCR', 'OMR']),
      payload: this.#chances.pick(payloads),
      maxAttempts: this.#chances.pick([1, 2, 3]),
      tenant: queue.isFifo
        ? this.#chances.pick(['t1', 't2'])
        : this.#chances.pick([null, null, 't1', 't2']),
      tier: this.#chances.pick([null, null, 'lite']),
      delayMs: queue.isFifo
        ? 0
        : this.#chances.pick([0, 0, 0, 2 * second, 20 * second, 20 * minute]),
      expiresAfterMs: this.#chances.pick([null, null, second, 15 * second, minute]),
      ...fixed,
    }
    const key = this.#chances.is(0.45) ? this.#anyKey(queue) : undefined
    const { type, payload, maxAttempts, tenant, tier, delayMs, expiresAfterMs } = draft
    const runAt = this.#model.now + delayMs
    const due = this.#chances.is(0.5) ? { delayMs } : { runAt }
    const job: NewJob = {
      ...{ type, payload },
      // The store must know the default itself.
      ...(maxAttempts !== (queue.deadLetters === null ? 3 : 1) && { maxAttempts }),
      ...(tenant !== null && { tenant }),
      ...(tier !== null && { tier }),
      ...(delayMs > 0 && key?.use !== 'debounce' && due),
      ...(expiresAfterMs !== null && { expiresAfterMs }),
      ...(queue.isFifo && { deduplicationId: `${this.#stores.jobsKnown}` }),
      ...keyOf(key),
    }
    this.steps.push(`enqueue in ${queue.name}: ${JSON.stringify(job).slice(0, 200)}`)
    const answers = await this.#stores.byOneProcess(({ jobs }) =>
      outcomeOf(async () => (await jobs.enqueue({ queue: queue.name, jobs: [job] }))[0]),
    )
    const expected = this.#model.enqueue(queue, draft, key)
    for (const side of sides) {
      const answer = answers[side]
      if (expected === 'conflict') {
        assert.equal(codeOf(answer), 'idempotency_conflict', side)
        continue
      }
      assert.ok(answer !== undefined && !(answer instanceof MillraceError), `${side}: ${answer}`)
      assert.equal(answer.status, expected.status, side)
      if (expected.status !== 'created') {
        assert.equal(answer.id, this.#stores.idOf(expected.job, side), side)
      }
    }
    if (expected !== 'conflict' && expected.status === 'created') {
      this.#bind(expected.job, answers)
    }
  }

  #anyKey({ isFifo }: ModelQueue): ModelKey {
    const key = this.#chances.pick(['k1', 'k2'])
    const use = this.#chances.pick(['idempotency', 'throttle', isFifo ? 'throttle' : 'debounce'])
    const windowMs = this.#chances.pick([2 * second, 20 * second])
    if (use === 'throttle') return { use, key, windowMs }
    if (use === 'debounce') {
      return { use, key, windowMs, maxWaitMs: this.#chances.pick([20 * second, 45 * second]) }
    }
    const lifetimeMs = this.#chances.pick([5 * second, 5 * minute])
    return { use: 'idempotency', key, lifetimeMs, coalesce: this.#chances.is(0.6) }
  }

  async #cancel(): Promise<void> {
    const job = this.#anyJob()
    if (job === undefined) return
    this.steps.push(`cancel ${job.name}`)
    const answers = await this.#stores.both(({ jobs }, side) =>
      outcomeOf(() => jobs.cancel({ id: this.#stores.idOf(job, side) })),
    )
    const expected = isFinished(job.status) ? 'job_finished' : 'cancelled'
    for (const side of sides) {
      const answer = answers[side]
      assert.equal(codeOf(answer) ?? ('status' in answer && answer.status), expected, side)
    }
    if (expected === 'cancelled') this.#model.cancel(job)
  }

  async #retry(): Promise<void> {
    const job = this.#anyJob()
    if (job === undefined) return
    this.steps.push(`retry ${job.name}`)
    const answers = await this.#stores.byOneProcess(({ jobs }, side) =>
      outcomeOf(() => jobs.retry({ id: this.#stores.idOf(job, side) })),
    )
    const isFit = job.status === 'failed' || job.status === 'cancelled'
    for (const side of sides) {
      assert.equal(codeOf(answers[side]), isFit ? undefined : 'job_not_finished', side)
    }
    if (isFit) this.#bind(this.#model.again(job), answers)
  }

  async #reschedule(): Promise<void> {
    const job = this.#anyJob()
    if (job === undefined) return
    const delayMs = this.#chances.pick([0, second, 30 * second, 20 * minute])
    const dueAt = this.#model.now + delayMs
    const due = this.#chances.is(0.5) ? { delayMs } : { runAt: dueAt }
    this.steps.push(`reschedule ${job.name} by ${delayMs}`)
    const refusal = job.queue.isFifo ? 'invalid_argument' : undefined
    const isDone = await this.#move(job, refusal, (jobs, id) => jobs.reschedule({ id, ...due }))
    if (isDone) this.#model.reschedule(job, dueAt)
  }

  async #promote(): Promise<void> {
    const job = this.#anyJob()
    if (job === undefined) return
    this.steps.push(`promote ${job.name}`)
    const isDone = await this.#move(job, undefined, (jobs, id) => jobs.promote({ id }))
    if (isDone) this.#model.reschedule(job, this.#model.now)
  }

  /** Whether the job was moved, which only a job that waits can be. */
  async #move(
    job: ModelJob,
    refusal: string | undefined,
    run: (jobs: JobStore, id: string) => Promise<JobRecord>,
  ): Promise<boolean> {
    const { status } = job
    const answers = await this.#stores.both(({ jobs }, side) =>
      outcomeOf(() => run(jobs, this.#stores.idOf(job, side))),
    )
    const running = status === 'processing' ? 'job_running' : refusal
    const expected = isFinished(status) ? 'job_finished' : running
    for (const side of sides) assert.equal(codeOf(answers[side]), expected, side)
    return expected === undefined
  }

  async #setSwitch(): Promise<void> {
    const { scope, value } = this.#chances.pick<SwitchTarget>([
      { scope: 'queue', value: this.#anyQueue().name },
      { scope: 'type', value: 'OCR' },
      { scope: 'tier', value: 'lite' },
      { scope: 'tenant', value: 't1' },
    ])
    const mode = this.#chances.pick(['hold', 'hold', 'divert'] as const)
    const forMs = this.#chances.pick([undefined, 5 * second])
    this.steps.push(`${mode} ${scope} ${value} for ${forMs}`)
    const request = { scope, value, mode, by: 'run', ...(forMs !== undefined && { forMs }) }
    await this.#stores.both(({ switches }) => switches.set(request))
    const until = this.#model.now + (forMs ?? Number.POSITIVE_INFINITY)
    this.#model.switches.set(`${scope} ${value}`, { scope, value, mode, until })
  }

  async #liftSwitch(): Promise<void> {
    const found = this.#chances.pick([...this.#model.switches])
    if (found !== undefined) await this.#lift(...found)
  }

  async #lift(key: string, { scope, value, until }: ModelSwitch): Promise<void> {
    this.steps.push(`lift the switch on ${scope} ${value}`)
    const wasOn = until > this.#model.now
    const answers = await this.#stores.both(({ switches }) =>
      switches.lift({ scope, value, by: 'run' }),
    )
    assert.deepEqual(answers, { eager: wasOn, lazy: wasOn })
    this.#model.switches.delete(key)
  }

  async #changeRetention(): Promise<void> {
    const queue = this.#anyQueue()
    const retentionMs = this.#chances.pick([minute, minute, 2 * minute, 10 * minute])
    this.steps.push(`keep messages of ${queue.name} for ${retentionMs}`)
    await this.#stores.both(({ backend }) =>
      backend.changeQueue({ queue: queue.name, changes: { retentionMs } }),
    )
    queue.retentionMs = retentionMs
    this.#model.applyElapsedTime()
  }

  async #changeCeilings(): Promise<void> {
    const queue = this.#anyQueue()
    const ceilings = queue.isFifo
      ? this.#chances.pick([noCeilings, { ...noCeilings, running: 2 }])
      : this.#chances.pick<Ceilings>([
          noCeilings,
          { ...noCeilings, running: 2 },
          { ...noCeilings, runningPerTenant: 1 },
          { ...noCeilings, runningPerType: { OCR: 1 } },
          { ...noCeilings, rate: { max: 2, perMs: 10 * second } },
          ...limitsByKey,
        ])
    await this.#limit(queue, ceilings)
  }

  /** More jobs of one value than its limit allows. */
  async #fillKey(): Promise<void> {
    const queue = this.#anyQueue()
    if (queue.isFifo) return
    await this.#limit(queue, this.#chances.pick<Ceilings>(limitsByKey))
    for (let job = 0; job < 3; job += 1) {
      await this.#enqueue(queue, { payload: '{"c":"a","r":1}', delayMs: 0 })
    }
    const request = { max: 2, visibilityMs: 10 * second }
    await this.#leases.receive(queue, request)
    await this.#leases.settle()
    await this.#leases.receive(queue, request)
  }

  async #limit(queue: ModelQueue, ceilings: Ceilings): Promise<void> {
    this.steps.push(`limit ${queue.name} to ${JSON.stringify(ceilings)}`)
    await this.#stores.both(({ backend }) =>
      backend.changeQueue({ queue: queue.name, changes: { ceilings } }),
    )
    queue.ceilings = ceilings
    // A rate counts from when it was asked for, and so do those of keys.
    queue.claims = []
  }

  async #redrive(): Promise<void> {
    const [queue] = this.#queues
    if (queue === undefined || queue.deadLetters === null) return
    this.steps.push('redrive')
    const source = queue.deadLetters
    await this.#stores.sweep('lazy')
    await this.#stores.byOneProcess(async ({ backend }) => {
      await backend.startMoveTask({ source })
      while ((await backend.sweep()).more);
    })
    const dead = this.#model.jobs.filter(({ isDeadLetter }) => isDeadLetter)
    for (const job of dead) {
      job.isDeadLetter = false
      const again = this.#model.again(job)
      const ids = await this.#stores.both(({ jobs }, side) => this.#newlyRetried(jobs, side, job))
      this.#bind(again, ids)
    }
  }

  async #newlyRetried(jobs: JobStore, side: Side, job: ModelJob): Promise<{ id: string }> {
    const { items } = await jobs.list({ queue: job.queue.name, limit: 1_000 })
    const found = items.find(
      ({ id, retryOf }) =>
        retryOf === this.#stores.idOf(job, side) && !this.#stores.knows(id, side),
    )
    assert.ok(found !== undefined, `${side}: ${job.name} was not moved back`)
    return found
  }

  async #purge(): Promise<void> {
    const queue = this.#anyQueue()
    this.steps.push(`purge ${queue.name}`)
    await this.#stores.both(({ backend }) => backend.purgeQueue({ queue: queue.name }))
    this.#model.purge(queue)
  }

  async #recreate(): Promise<void> {
    const queue = this.#anyQueue()
    this.steps.push(`delete and create ${queue.name}`)
    await this.#stores.both(({ backend }) => backend.deleteQueue({ queue: queue.name }))
    this.#model.purge(queue)
    queue.ceilings = noCeilings
    queue.claims = []
    await this.#create(queue)
    this.#leases.forget(queue)
  }

  async #sweepLazy(): Promise<void> {
    this.steps.push('sweep')
    await this.#stores.sweep('lazy')
  }

  async #reopen(): Promise<void> {
    this.steps.push('reopen')
    await this.#stores.reopen()
  }

  async #advance(ms: number): Promise<void> {
    this.steps.push(`advance ${ms}`)
    await this.#stores.advance(ms)
    this.#model.advance(ms)
  }

  async #compare(side: Side): Promise<void> {
    const compared = { stores: this.#stores, side, model: this.#model, queues: this.#queues }
    if (this.#chances.is(0.3)) await compareLists(compared)
    await compareJobs(compared)
  }

  /** Leaves stores behind in which the next run finds nothing of this one. */
  async #finish(): Promise<void> {
    this.steps.push('finish')
    for (const found of [...this.#model.switches]) await this.#lift(...found)
    for (const side of sides) {
      await this.#stores.sweep(side)
      await this.#compare(side)
    }
    await this.#stores.both(async ({ backend }) => {
      for (const { name, deadLetters } of this.#queues) {
        await backend.deleteQueue({ queue: name })
        if (deadLetters !== null) await backend.deleteQueue({ queue: deadLetters })
      }
      while ((await backend.sweep()).more);
    })
    await this.#advance(historyMs)
    for (const side of sides) await this.#stores.sweep(side)
    for (const job of this.#model.jobs) {
      const records = await this.#stores.both(({ jobs }, side) =>
        jobs.read({ id: this.#stores.idOf(job, side) }),
      )
      assert.deepEqual(records, { eager: undefined, lazy: undefined }, job.name)
    }
  }

  #bind(job: ModelJob, answers: OfBoth<{ readonly id: string } | Error | undefined>): void {
    this.#stores.bind(job, answers)
    this.steps.push(`  that is ${job.name}`)
  }

  #anyQueue(): ModelQueue {
    return this.#chances.pick(this.#queues) ?? assert.fail()
  }

  #anyJob(): ModelJob | undefined {
    return this.#chances.pick(this.#model.jobs)
  }
}

function keyOf(key: ModelKey | undefined): Partial<NewJob> {
  if (key === undefined) return {}
  const { use, ...given } = key
  return { [use]: given }
}

function codeOf(answer: unknown): string | undefined {
  return answer instanceof MillraceError ? answer.code : undefined
}
