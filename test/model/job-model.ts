/**
 * Tracked jobs as a plain model in memory. It says what became of each job and of each of its attempts,
 * at the moment at which it happened; which jobs a claim takes is only checked, not chosen here.
 */

import type { Outcome } from '../../src/backends/backend.ts'
import type { JobAttempt, JobLogLine } from '../../src/backends/job-store.ts'
import type { SwitchMode, SwitchScope } from '../../src/backends/switch-store.ts'
import type { Failure } from '../../src/core/failure.ts'
import { isFinished, type JobStatus } from '../../src/core/job-state.ts'
import type { LogLine } from '../../src/core/log-line.ts'
import type { Ceilings } from '../../src/core/queue-settings.ts'

export const errors = {
  expired: 'The job expired before it was done.',
  lapsed: 'The lease ended before the attempt was settled.',
  lost: 'The lease ended before the attempt was settled.',
  moved: 'It was moved, and is a new job now.',
} as const

export const noCeilings: Ceilings = {
  running: null,
  runningPerTenant: null,
  runningPerType: {},
  rate: null,
  perKey: [],
}

export interface ModelQueue {
  readonly name: string
  readonly isFifo: boolean
  readonly deadLetters: string | null
  retentionMs: number
  ceilings: Ceilings
  /** The claims of jobs, as far as the latest rates are concerned. */
  claims: { readonly at: number; readonly keys: ModelJob['keys'] }[]
}

/** What was said when it was enqueued. */
export interface PreparedJob {
  readonly type: string
  readonly payload: string
  readonly maxAttempts: number
  readonly tenant: string | null
  readonly tier: string | null
  readonly delayMs: number
  readonly expiresAfterMs: number | null
}

export type ModelKey =
  | {
      readonly use: 'idempotency'
      readonly key: string
      readonly lifetimeMs: number
      readonly coalesce: boolean
    }
  | { readonly use: 'throttle'; readonly key: string; readonly windowMs: number }
  | {
      readonly use: 'debounce'
      readonly key: string
      readonly windowMs: number
      readonly maxWaitMs: number
    }

export interface ModelJob extends PreparedJob {
  readonly name: string
  readonly queue: ModelQueue
  readonly retryOf: ModelJob | null
  readonly createdAt: number
  /** Its place in the queue. */
  readonly order: number
  /** The values of the keys that its queue had a ceiling for when it was stored. */
  keys: Readonly<Record<string, unknown>>
  status: JobStatus
  attemptsMade: number
  readonly history: JobAttempt[]
  logs: ModelLogLine[]
  error: string | null
  result: string | null
  progress: number
  /** What was spent on it, whatever became of the lease. */
  spent: number
  startedAt: number | null
  finishedAt: number | null
  /** It can be claimed from then on, as far as its lease, its delay or its retry is concerned. */
  readyAt: number
  /** Until then it waits for a time that was asked for, not for a retry. */
  isDelayed: boolean
  /** It fails then, unless it is being run. */
  expiresAt: number
  /** The latest, also when it has lapsed; undefined when it was handed back. */
  lease: ModelLease | undefined
  /** Its message lies in the dead-letter queue. */
  isDeadLetter: boolean
  /** It went with its queue, or when that was purged. */
  wasDiscarded: boolean
}

/** A line, and the lease under which it was logged. */
export interface ModelLogLine extends JobLogLine {
  readonly lease: ModelLease
}

/** A lease is known by the object. */
export interface ModelLease {
  readonly startedAt: number
  until: number
}

interface RememberedKey {
  readonly scope: string
  readonly job: ModelJob
  readonly payload: string
  readonly until: number
}

export interface ModelSwitch {
  readonly scope: SwitchScope
  readonly value: string
  readonly mode: SwitchMode
  readonly until: number
}

export type Enqueued =
  | { readonly status: 'created' | 'duplicate' | 'coalesced'; readonly job: ModelJob }
  | 'conflict'

export class JobModel {
  now: number
  readonly jobs: ModelJob[] = []
  readonly switches: Map<string, ModelSwitch> = new Map()
  readonly #keys = new Map<string, RememberedKey>()

  constructor(now: number) {
    this.now = now
  }

  advance(ms: number): void {
    this.now += ms
    this.applyElapsedTime()
  }

  /** Ends what time has overtaken, each at its own time. */
  applyElapsedTime(): void {
    for (const job of this.jobs) {
      if (isFinished(job.status)) continue
      const { lease } = job
      const hasLapsed =
        job.status === 'processing' && lease !== undefined && lease.until <= this.now
      if (hasLapsed) this.#lapse(job, lease)
      if (job.status === 'pending') this.#expire(job, hasLapsed ? lease.until : 0)
    }
  }

  /** Ends a job that has passed its limit and waits, since then. */
  #expire(job: ModelJob, since: number): void {
    const { expiresAt } = job
    if (expiresAt > this.now) return
    this.#end(job, { status: 'failed', error: errors.expired, at: Math.max(expiresAt, since) })
  }

  enqueue(queue: ModelQueue, draft: PreparedJob, key: ModelKey | undefined): Enqueued {
    if (key === undefined) return { status: 'created', job: this.#add(queue, draft, null) }
    const scope = JSON.stringify([queue.name, draft.type, key.use, key.key])
    const known = this.#keys.get(scope)
    const earlier = known === undefined ? undefined : this.#earlier(known, draft, key)
    if (earlier !== undefined) return earlier
    const delayMs = key.use === 'debounce' ? key.windowMs : draft.delayMs
    const job = this.#add(queue, { ...draft, delayMs }, null)
    const until = this.now + (key.use === 'idempotency' ? key.lifetimeMs : key.windowMs)
    this.#keys.set(scope, { scope, job, payload: draft.payload, until })
    return { status: 'created', job }
  }

  #earlier(known: RememberedKey, draft: PreparedJob, key: ModelKey): Enqueued | undefined {
    const { job, payload, until } = known
    const waits = job.status === 'pending' && job.attemptsMade === 0
    if (key.use === 'debounce') {
      if (!waits) return undefined
      const { delayMs: _, ...last } = draft
      const readyAt = Math.min(this.now + key.windowMs, job.createdAt + key.maxWaitMs)
      Object.assign(job, { ...last, keys: keysIn(job.queue, draft) })
      job.readyAt = Math.max(this.now, readyAt)
      job.isDelayed = job.readyAt > this.now
      job.expiresAt = job.readyAt + (draft.expiresAfterMs ?? Number.POSITIVE_INFINITY)
      return { status: 'coalesced', job }
    }
    if (until <= this.now) return undefined
    if (key.use === 'throttle') return { status: 'coalesced', job }
    if (key.coalesce) return waits ? { status: 'coalesced', job } : undefined
    return payload === draft.payload ? { status: 'duplicate', job } : 'conflict'
  }

  /** Jobs that could be claimed if nothing stopped them, in order. */
  claimable(queue: ModelQueue): readonly ModelJob[] {
    const own = this.jobs.filter((job) => job.queue === queue && !isFinished(job.status))
    const isInFlight = ({ attemptsMade, readyAt }: ModelJob): boolean =>
      attemptsMade > 0 && readyAt > this.now
    return own
      .filter((job) => job.readyAt <= this.now)
      .filter((job) => {
        const isBefore = (other: ModelJob): boolean =>
          other.tenant === job.tenant && other.order < job.order
        return !queue.isFifo || !own.some((other) => isBefore(other) && isInFlight(other))
      })
      .toSorted((left, right) => left.order - right.order)
  }

  /** Why a job may not be claimed, all switches and ceilings considered. */
  stoppedBy(job: ModelJob): 'held' | 'diverted' | 'ceiling' | undefined {
    const modes = this.#switchesOn(job)
    if (modes.includes('hold')) return 'held'
    if (modes.includes('divert')) return 'diverted'
    const { running, runningPerTenant, runningPerType, perKey } = job.queue.ceilings
    const runningBucket = this.jobs.filter(
      ({ queue, status }) => queue === job.queue && status === 'processing',
    )
    const ofTenant = runningBucket.filter(({ tenant }) => tenant === job.tenant && tenant !== null)
    const ofType = runningBucket.filter(({ type }) => type === job.type)
    const isFull =
      runningBucket.length >= (running ?? Number.POSITIVE_INFINITY) ||
      ofTenant.length >= (runningPerTenant ?? Number.POSITIVE_INFINITY) ||
      ofType.length >= (runningPerType[job.type] ?? Number.POSITIVE_INFINITY) ||
      perKey.some(({ key, running: max }) => {
        const value = job.keys[key]
        const ofValue = runningBucket.filter(({ keys }) => keys[key] === value)
        return value !== undefined && ofValue.length >= (max ?? Number.POSITIVE_INFINITY)
      })
    return isFull ? 'ceiling' : undefined
  }

  claim(job: ModelJob, visibilityMs: number): void {
    if (job.attemptsMade === 0) job.startedAt = this.now
    job.attemptsMade += 1
    job.status = 'processing'
    job.lease = { startedAt: this.now, until: this.now + visibilityMs }
    job.readyAt = job.lease.until
    job.isDelayed = false
    job.queue.claims.push({ at: this.now, keys: job.keys })
    this.applyElapsedTime()
  }

  /** Whether the lease is live; a standard queue takes late acknowledgements of the latest one. */
  isLive(job: ModelJob, lease: ModelLease): boolean {
    return job.status === 'processing' && job.lease === lease
  }

  mayComplete(job: ModelJob, lease: ModelLease): boolean {
    if (job.queue.isFifo) return this.isLive(job, lease)
    return !isFinished(job.status) && job.lease === lease
  }

  complete(job: ModelJob, lease: ModelLease, result: string): void {
    // A late one has been written down as lost, and was not.
    if (job.history.at(-1)?.attempt === job.attemptsMade) job.history.pop()
    job.status = 'processing'
    job.lease = lease
    this.#end(job, { status: 'completed', error: null, at: this.now })
    job.result = result
    job.progress = 1
  }

  /** Lines of an earlier run of the same attempt go: it was released. */
  log(job: ModelJob, lease: ModelLease, lines: readonly LogLine[]): void {
    if (lines.length === 0) return
    const { attemptsMade: attempt } = job
    const stay = job.logs.filter((one) => one.attempt !== attempt || one.lease === lease)
    job.logs = [...stay, ...lines.map((line) => ({ attempt, lease, ...line }))]
  }

  retryLater(job: ModelJob, outcome: Extract<Outcome, { readonly kind: 'retry' }>): void {
    const { delayMs, error = null, failure = null } = outcome
    this.#note(job, { outcome: 'retried', error, failure, at: this.now })
    this.#handBack(job, delayMs)
  }

  release(job: ModelJob): void {
    job.attemptsMade -= 1
    if (job.attemptsMade === 0) job.startedAt = null
    this.#handBack(job, 0)
  }

  /** To the dead letters, if there is a place for them. */
  fail(job: ModelJob, error: string, { at = this.now, failure }: Failing = {}): void {
    this.#end(job, { status: 'failed', error, failure, at })
    job.isDeadLetter = job.queue.deadLetters !== null
  }

  extend(lease: ModelLease, job: ModelJob, visibilityMs: number): void {
    lease.until = this.now + visibilityMs
    job.readyAt = lease.until
    this.applyElapsedTime()
  }

  cancel(job: ModelJob): void {
    this.#end(job, { status: 'cancelled', error: null, at: this.now })
  }

  /** Lets it be due at this time. A job that is due already stays as it is, if that is now. */
  reschedule(job: ModelJob, dueAt: number): void {
    if (dueAt <= this.now && job.readyAt <= this.now) return
    job.readyAt = dueAt
    job.isDelayed = dueAt > this.now
    job.expiresAt = dueAt + (job.expiresAfterMs ?? Number.POSITIVE_INFINITY)
  }

  purge(queue: ModelQueue): void {
    for (const job of this.jobs) {
      if (job.queue !== queue || isFinished(job.status)) continue
      this.cancel(job)
      job.wasDiscarded = true
    }
  }

  /** A new job like it, which says so. */
  again(job: ModelJob): ModelJob {
    return this.#add(job.queue, { ...job, delayMs: 0 }, job)
  }

  #add(queue: ModelQueue, draft: PreparedJob, retryOf: ModelJob | null): ModelJob {
    const { type, payload, maxAttempts, tenant, tier, delayMs, expiresAfterMs } = draft
    const order = this.jobs.length + 1
    const readyAt = this.now + delayMs
    const job: ModelJob = {
      ...{ type, payload, maxAttempts, tenant, tier, delayMs, expiresAfterMs, readyAt },
      ...{ name: `job ${order}`, queue, retryOf, createdAt: this.now, order },
      ...{ status: 'pending', attemptsMade: 0, history: [], logs: [], error: null, result: null },
      ...{ progress: 0, spent: 0, startedAt: null, finishedAt: null, isDelayed: delayMs > 0 },
      expiresAt: readyAt + (expiresAfterMs ?? Number.POSITIVE_INFINITY),
      ...{ lease: undefined, isDeadLetter: false, wasDiscarded: false },
      keys: keysIn(queue, draft),
    }
    this.jobs.push(job)
    return job
  }

  #switchesOn({ queue, type, tier, tenant }: ModelJob): readonly SwitchMode[] {
    const values = { queue: queue.name, type, tier, tenant, name: null } as const
    return [...this.switches.values()]
      .filter(({ scope, value, until }) => {
        const concerns = values[scope] === value && (scope === 'queue' || !queue.isFifo)
        return concerns && until > this.now
      })
      .map(({ mode }) => mode)
  }

  #lapse(job: ModelJob, { until }: ModelLease): void {
    this.#note(job, { outcome: 'lapsed', error: errors.lapsed, at: until })
    job.status = 'pending'
    if (job.attemptsMade >= job.maxAttempts) this.fail(job, errors.lost, { at: until })
  }

  #handBack(job: ModelJob, delayMs: number): void {
    job.status = 'pending'
    job.lease = undefined
    job.readyAt = this.now + delayMs
    this.#expire(job, this.now)
  }

  #end(
    job: ModelJob,
    {
      status,
      error,
      failure,
      at,
    }: Pick<ModelJob, 'status' | 'error'> & Failing & { readonly at: number },
  ): void {
    if (job.status === 'processing') {
      const outcome = status === 'completed' || status === 'cancelled' ? status : 'failed'
      this.#note(job, { outcome, error, failure: failure ?? null, at })
    }
    Object.assign(job, { status, error, finishedAt: at })
  }

  #note(job: ModelJob, end: NotedEnd): void {
    const { outcome, error, failure = null, at: endedAt } = end
    const startedAt = job.lease?.startedAt ?? this.now
    job.history.push({ attempt: job.attemptsMade, startedAt, endedAt, outcome, error, failure })
    job.error = error
  }
}

/** When and of what a job failed. */
interface Failing {
  readonly at?: number
  readonly failure?: Failure | undefined
}

interface NotedEnd
  extends Pick<JobAttempt, 'outcome' | 'error'>,
    Partial<Pick<JobAttempt, 'failure'>> {
  readonly at: number
}

function keysIn({ ceilings }: ModelQueue, { payload }: PreparedJob): ModelJob['keys'] {
  const fields: unknown = JSON.parse(payload)
  if (typeof fields !== 'object' || fields === null) return {}
  const known = Object.entries(fields).filter(
    ([name, value]) => value !== null && ceilings.perKey.some(({ key }) => key === name),
  )
  return Object.fromEntries(known)
}

/** Its attempts are used up, and the next receive that meets it ends it. */
export function isUsedUp({ attemptsMade, maxAttempts }: ModelJob): boolean {
  return attemptsMade >= maxAttempts
}

export function names(jobs: readonly Pick<ModelJob, 'name'>[]): string[] {
  return jobs.map(({ name }) => name)
}
