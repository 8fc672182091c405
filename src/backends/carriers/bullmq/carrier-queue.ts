/** One queue of BullMQ: fetching, settling and looking for jobs whose lease has ended. */
import type { RedisConnection, RedisQueueBackend } from 'bullmq'
import type { Ports } from '../../../core/ports.ts'
import type { CarrierEnd, CarrierReleased } from '../carrier.ts'
import type { Argument, CommandBatch } from './command-batch.ts'
import { FetchedAhead } from './fetched-ahead.ts'
import type { FetchedJob } from './job-content.ts'
import { type Keep, type Lease, type LeasedJob, leasedJob } from './leases.ts'
import { MarkerWaits, type MarkerWaitsOptions } from './marker-waits.ts'
import type { ResolvedOptions } from './options.ts'
import { queueBackend, runScript } from './queue-backend.ts'
import { jobOf } from './queue-pages.ts'

export interface CarrierQueueOptions extends Pick<MarkerWaitsOptions, 'connect' | 'now'> {
  readonly queue: string
  readonly connection: RedisConnection
  readonly batch: CommandBatch
  readonly options: ResolvedOptions
  readonly ports: Ports
}

export interface Fetched {
  readonly jobs: readonly LeasedJob[]
  /** For how long a rate limit forbids to receive. */
  readonly limitedMs: number
}

const backendsMax = 32

/** Of the error of the last attempt, which a job keeps as its stack too. */
const errorCharactersMax = 4_096

export class CarrierQueue {
  readonly waits: MarkerWaits
  /** For everything but fetching: leases have no part in it. */
  readonly backend: RedisQueueBackend
  readonly #options: CarrierQueueOptions
  readonly #byDuration = new Map<number, RedisQueueBackend>()
  /** As many jobs as the last fetches found. Each job that is not there would cost a script. */
  #burst = 1
  readonly #ahead: FetchedAhead
  #cancelStalledCheck: (() => void) | undefined
  #isClosed = false

  constructor(options: CarrierQueueOptions) {
    const { batch, ports, connect, now } = options
    this.#options = options
    this.backend = this.#newBackend(30_000)
    const marker = this.backend.toKey('marker')
    this.waits = new MarkerWaits({
      marker,
      connect,
      putBack: (member, score) => {
        // Without it, receives of other processes look a few seconds later.
        batch.call('zadd', marker, score, member).catch(() => undefined)
      },
      timers: ports.timers,
      now,
    })
    this.#ahead = new FetchedAhead({
      ports,
      takeBack: (jobs) => this.takeBack(jobs),
    })
  }

  /** Jobs that are leased and that no receive has. */
  get aheadCount(): number {
    return this.#ahead.size
  }

  /** Leases up to `max` jobs, without waiting. */
  async fetch(max: number, visibilityMs: number): Promise<Fetched> {
    this.#startStalledChecks()
    const ahead = this.#ahead.take(max, visibilityMs)
    if (ahead.length > 0) return { jobs: ahead, limitedMs: 0 }
    const asked = Math.min(max, this.#burst)
    const backend = this.#backendFor(visibilityMs)
    const results = await Promise.allSettled(
      Array.from({ length: asked }, () => this.#fetchOne(backend)),
    )
    const fetched = results.flatMap((result) =>
      result.status === 'fulfilled' ? [result.value] : [],
    )
    const jobs = fetched.flatMap(({ leased }) => leased ?? [])
    const failed = results.find((result) => result.status === 'rejected')
    // Jobs that were fetched are received, whatever the others met.
    if (failed !== undefined && jobs.length === 0) throw failed.reason
    const isFull = jobs.length === asked
    this.#ahead.note(isFull ? { visibilityMs, received: asked } : undefined)
    if (isFull) this.#burst = Math.min(1_000, Math.max(this.#burst, 2 * asked))
    else this.#burst = Math.max(1, jobs.length)
    const { limitedMs = 0, nextDueAt = 0 } = fetched.at(-1) ?? {}
    if (nextDueAt > 0) this.waits.noteDue(nextDueAt)
    return { jobs, limitedMs }
  }

  /** Undoes a fetch: the jobs are the next ones again, and it does not count. */
  async takeBack(jobs: readonly LeasedJob[]): Promise<void> {
    await Promise.all(
      // One that fails is received again when its lease has ended.
      jobs.map(({ lease }) => this.release(lease, { delayMs: 0 }).catch(() => false)),
    )
  }

  /** Returns whether the lease was live. */
  async finish(lease: Lease, { result, error }: Omit<CarrierEnd, 'handle'>): Promise<boolean> {
    const { removeOnComplete, removeOnFail } = this.#options.options
    const { id, token, keep = {} } = lease
    // A job that is fetched ahead would count for the limiter.
    const nextMs = this.#isClosed || this.#isLimited ? undefined : this.#ahead.plan()
    const fetchNext = nextMs !== undefined
    const backend = fetchNext ? this.#backendFor(nextMs) : this.backend
    const job = minimalJob(id)
    const args =
      error === undefined
        ? backend.moveToCompletedArgs(
            job,
            returnValue(result),
            keep.completed ?? (removeOnComplete as Keep),
            token,
            fetchNext,
          )
        : backend.moveToFailedArgs(
            job,
            error,
            keep.failed ?? (removeOnFail as Keep),
            token,
            fetchNext,
            errorFields(error),
          )
    const reply = await runScript(backend, 'moveToFinished', args)
    if (!Array.isArray(reply)) return Number(reply) >= 0
    const [fields, nextId] = reply
    if (fetchNext && Array.isArray(fields)) {
      await this.#addAhead(leasedJob(jobOf(String(nextId), fields), token), nextMs)
    }
    return true
  }

  /** Returns whether the lease was live. */
  async release(
    lease: Lease,
    { delayMs, error }: Omit<CarrierReleased, 'handle'>,
  ): Promise<boolean> {
    const { backend } = this
    const { id, token } = lease
    const counts = error === undefined ? {} : { fieldsToUpdate: errorFields(error) }
    if (delayMs > 0) {
      const now = this.#options.now()
      const options = { ...counts, skipAttempt: error === undefined }
      const args = backend.moveToDelayedArgs(id, now, token, Math.ceil(delayMs), options)
      return this.#settled('moveToDelayed', args)
    }
    if (error !== undefined) {
      return this.#settled('retryJob', backend.retryJobArgs(id, false, token, counts))
    }
    try {
      await backend.moveJobFromActiveToWait(id, token)
      return true
    } catch (refusal) {
      if (isLost(refusal)) return false
      throw refusal
    }
  }

  /** Makes a job receivable at once; its receive counts. */
  unlock({ id, token }: Lease): Promise<boolean> {
    return this.#settled('retryJob', this.backend.retryJobArgs(id, false, token))
  }

  /** The next fetch starts them again. */
  stopStalledChecks(): void {
    this.#cancelStalledCheck?.()
    this.#cancelStalledCheck = undefined
  }

  /** Those that were fetched ahead are no longer there. */
  forgetAhead(): void {
    this.#ahead.clear()
  }

  /** Waiting receives end. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.stopStalledChecks()
    this.waits.close()
    await this.#ahead.close()
  }

  async #addAhead(leased: LeasedJob, visibilityMs: number): Promise<void> {
    if (this.#isClosed) return this.takeBack([leased])
    this.#ahead.add(leased, visibilityMs)
    this.waits.wake()
  }

  get #isLimited(): boolean {
    const { queue, options } = this.#options
    return Object.hasOwn(options.limiters, queue)
  }

  async #fetchOne(backend: RedisQueueBackend): Promise<{
    readonly leased: LeasedJob | undefined
    readonly limitedMs: number
    readonly nextDueAt: number
  }> {
    const token = this.#options.ports.ids.next()
    const reply = await backend.moveToActive(token)
    const job: FetchedJob | null | undefined = reply[0]
    const id: string | 0 | undefined = reply[1]
    const limitedMs = Number(reply[2] ?? 0)
    const nextDueAt = Number(reply[3] ?? 0)
    if (!job || !id) return { leased: undefined, limitedMs, nextDueAt }
    return { leased: leasedJob({ ...job, id }, token), limitedMs, nextDueAt }
  }

  async #settled(script: string, args: readonly Argument[]): Promise<boolean> {
    return Number(await runScript(this.backend, script, args)) >= 0
  }

  #startStalledChecks(): void {
    if (this.#cancelStalledCheck !== undefined || this.#isClosed) return
    const { ports, options } = this.#options
    const check = (): void => {
      if (this.#isClosed) return
      // The next one repeats it, and what fails meanwhile reports why.
      this.backend.moveStalledJobsToWait().catch(() => undefined)
      this.#cancelStalledCheck = ports.timers.after(options.stalledInterval, check, {
        background: true,
      })
    }
    check()
  }

  #backendFor(visibilityMs: number): RedisQueueBackend {
    const lockDuration = Math.max(1, Math.ceil(visibilityMs))
    const known = this.#byDuration.get(lockDuration)
    if (known !== undefined) return known
    if (this.#byDuration.size >= backendsMax) this.#byDuration.clear()
    const backend = this.#newBackend(lockDuration)
    this.#byDuration.set(lockDuration, backend)
    return backend
  }

  #newBackend(lockDuration: number): RedisQueueBackend {
    const { queue, connection, batch, options } = this.#options
    return queueBackend({ queue, connection, batch, options, lockDuration })
  }
}

/** The lock is gone or another one's, or the job is. */
function isLost(error: unknown): boolean {
  const { code } = Object(error) as { readonly code?: unknown }
  return typeof code === 'number' && code < 0
}

/** What the script reads of the job: flows of BullMQ, which this carrier does not make, keep their parents. */
function minimalJob(id: string): Parameters<RedisQueueBackend['moveToCompletedArgs']>[0] {
  return { id, opts: { attempts: 0 } } as Parameters<RedisQueueBackend['moveToCompletedArgs']>[0]
}

/** BullMQ stores JSON. */
function returnValue(result: string | undefined): string {
  if (result === undefined) return 'null'
  try {
    JSON.parse(result)
    return result
  } catch {
    return JSON.stringify(result)
  }
}

function errorFields(error: string): {
  readonly failedReason: string
  readonly stacktrace: string
} {
  return { failedReason: error, stacktrace: JSON.stringify([error.slice(0, errorCharactersMax)]) }
}
