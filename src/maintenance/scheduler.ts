/**
 * Fires the ticks of an app's schedules, in every process that has the app open. The store lets one process
 * win each tick. If the message of a declared schedule cannot be created, the tick is retried a few times,
 * then abandoned and reported. Other schedules are not affected.
 */
import type { DueSchedules, ScheduleRecord, ScheduleStore } from '../backends/schedule-store.ts'
import { errorSummary } from '../core/error-summary.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'
import { renewalMs, renewSchedules } from '../flows/ensure-schedules.ts'
import type { PlannedSchedule, SchedulePlan } from '../flows/planned-schedules.ts'
import type { Logger } from '../observability/logger.ts'
import { type DueTick, dueTick, isAborted, isOfStore, type TickFailure } from './due-tick.ts'
import { LoweredTicks } from './lowered-ticks.ts'
import { tickRuntime } from './runtime-ticks.ts'
import { Service, type ServiceFailure, type SliceEnd } from './service.ts'
import { reportUnserved } from './unserved-schedules.ts'

export interface SchedulerOptions {
  readonly store: Pick<
    ScheduleStore,
    'now' | 'due' | 'tick' | 'list' | 'renew' | 'ensure' | 'reportUnserved'
  >
  readonly plan: SchedulePlan
  readonly timers: Timers
  readonly log: Logger
  /** Pause between two checks if nothing is due sooner. Default: 1000. */
  readonly intervalMs?: number
  /** How much longer that pause becomes while nothing is due. Default: not at all. */
  readonly idleGrowth?: number
  readonly onTickFailure: (failure: TickFailure) => void
  readonly onFailure?: (failure: ServiceFailure) => void
}

const defaultIntervalMs = 1_000

/** Pauses between tries. After the last one, the tick is abandoned. */
const retriesMs: readonly number[] = [1_000, 5_000]

/** Timeout of a payload function. */
const payloadMsMax = 10_000

/** How long a check waits for its ticks. Slower ticks continue in the background. */
const patienceMs = 500

interface Tries {
  /** The due tick, even if a later one is fired in its place. */
  readonly dueAt: number
  readonly failures: number
  readonly failedAt: number
  readonly retryInMs: number
}

export class Scheduler extends Service {
  readonly #options: SchedulerOptions
  readonly #declared: ReadonlyMap<string, PlannedSchedule>
  /** Running ticks, by declared schedule. */
  readonly #running = new Map<string, Promise<void>>()
  readonly #tries = new Map<string, Tries>()
  /** The running ticks of schedules that were set at run time. */
  #runtime: Promise<number> | undefined
  readonly #lowered: LoweredTicks
  /** When this process last renewed its schedules in the store. */
  #renewedAt = 0
  #storeError: unknown
  #stopping = Promise.withResolvers<never>()

  constructor(options: SchedulerOptions) {
    const { timers, intervalMs = defaultIntervalMs, onFailure, plan, store } = options
    const { idleGrowth } = options
    super({ timers, intervalMs, idleGrowth, onFailure, slice: () => this.#slice() })
    this.#options = options
    this.#declared = new Map(plan.declared.map((planned) => [planned.name, planned]))
    this.#lowered = new LoweredTicks(store, plan)
    this.#stopping.promise.catch(() => undefined)
  }

  override async stop(): Promise<void> {
    const ended = super.stop()
    this.#stopping.reject(new MillraceError('aborted'))
    await ended
    await Promise.all([...this.#running.values(), this.#runtime])
    this.#stopping = Promise.withResolvers<never>()
    this.#stopping.promise.catch(() => undefined)
  }

  async #slice(): Promise<SliceEnd> {
    const { store, plan } = this.#options
    const { scope, targets } = plan
    const due = await store.due({ scope, targets })
    const begun = due.schedules.flatMap((record) => this.#begin(record, due) ?? [])
    let handled = begun.length
    const runtime = this.#beginRuntime(due)?.then((count) => {
      handled += count
    })
    await this.#patiently(Promise.all([...begun, runtime]))
    const error = this.#storeError
    this.#storeError = undefined
    if (error !== undefined) throw error
    const isLowering = await this.#lowered.slice(due.now)
    await this.#renew(due)
    // A schedule with missed ticks may be due again at once.
    return { more: handled > 0 || isLowering, nextInMs: this.#nextAt(due) - due.now }
  }

  /** When the next tick is due, or the next try of one that failed. */
  #nextAt({ nextAt, schedules }: DueSchedules): number {
    const waiting = schedules.filter(({ schedule }) => !this.#running.has(schedule))
    const tries = waiting.flatMap(({ schedule }) => this.#tries.get(schedule) ?? [])
    const retries = tries.map(({ failedAt, retryInMs }) => failedAt + retryInMs)
    return Math.min(nextAt ?? Number.POSITIVE_INFINITY, ...retries)
  }

  async #renew(due: DueSchedules): Promise<void> {
    if (isWithin(renewalMs, { from: this.#renewedAt, now: due.now })) return
    const { store, plan, log } = this.#options
    await renewSchedules(store, plan)
    await reportUnserved({ store, scope: plan.scope, log }, due)
    this.#renewedAt = due.now
  }

  /**
   * Starts the ticks of schedules that were set at run time, unless earlier ones still run. Resolves with how
   * many there were.
   */
  #beginRuntime({ schedules, now }: DueSchedules): Promise<number> | undefined {
    const records = schedules.filter(({ definition }) => definition !== null)
    if (records.length === 0 || this.#runtime !== undefined) return undefined
    const { store, plan, log, onTickFailure } = this.#options
    const inTime = <T>(work: Promise<T>): Promise<T> => this.#inTime(work)
    const ticks = tickRuntime({ store, plan, log, inTime, onTickFailure }, records, now)
    this.#runtime = ticks
      .catch((error: unknown) => {
        if (!isAborted(error)) this.#storeError = error
        return 0
      })
      .finally(() => {
        this.#runtime = undefined
      })
    return this.#runtime
  }

  /** Starts the tick of a declared schedule, unless it must wait. */
  #begin(record: ScheduleRecord, { now }: DueSchedules): Promise<void> | undefined {
    const { schedule: name, rule, definition } = record
    const planned = this.#declared.get(name)
    // Another version of the app declared another rule, and fires it while it runs.
    if (planned === undefined || planned.rule.text !== rule || definition !== null) return undefined
    if (this.#running.has(name)) return undefined
    const tries = this.#tries.get(name)
    if (tries && isWithin(tries.retryInMs, { from: tries.failedAt, now })) return undefined
    const tick = this.#tick(dueTick(planned, record, now), now)
      .catch((error: unknown) => {
        this.#storeError = error
      })
      .finally(() => this.#running.delete(name))
    this.#running.set(name, tick)
    return tick
  }

  async #tick(due: DueTick, now: number): Promise<void> {
    const { planned, move, sends } = due
    const { store } = this.#options
    const { skipped } = move
    if (sends === null) {
      const [result] = await store.tick({ ticks: [move] })
      if (result?.status === 'ticked' && skipped > 0)
        this.#log(planned, 'schedule skipped', { skipped })
      return
    }
    try {
      const emission = await this.#inTime(planned.emission(sends))
      const [result] = await store.tick({ ticks: [{ ...move, emission }] })
      if (result?.status === 'refused') throw result.error
      this.#tries.delete(planned.name)
      if (result?.status !== 'ticked') return
      const at = sends.at.toISOString()
      this.#log(planned, 'schedule ticked', { at, id: result.id, skipped })
    } catch (error) {
      if (isOfStore(error)) throw error
      await this.#failed(due, error, now)
    }
  }

  async #failed({ planned, move }: DueTick, error: unknown, now: number): Promise<void> {
    if (isAborted(error)) return
    const { at, dueAt } = move
    const before = this.#tries.get(planned.name)
    const tries = (before?.dueAt === dueAt ? before.failures : 0) + 1
    const retryInMs = retriesMs[tries - 1] ?? null
    if (retryInMs === null) {
      this.#tries.delete(planned.name)
      const failure = errorSummary(error)
      const [result] = await this.#options.store.tick({ ticks: [{ ...move, failure }] })
      // Another process fired the tick or already reported it.
      if (result?.status !== 'ticked') return
    } else {
      this.#tries.set(planned.name, { dueAt, failures: tries, failedAt: now, retryInMs })
    }
    const facts = { schedule: planned.key, at: new Date(at), error, tries, retryInMs }
    this.#options.onTickFailure(facts)
  }

  #log(
    { key: schedule }: PlannedSchedule,
    message: string,
    fields: Readonly<Record<string, string | number | null>>,
  ): void {
    this.#options.log.info({ schedule, ...fields }, message)
  }

  /** Rejects after the timeout, or when the scheduler stops. */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>()
    const cancel = this.#options.timers.after(
      payloadMsMax,
      () => late.reject(new Error(`The payload function took longer than ${payloadMsMax} ms.`)),
      { background: true },
    )
    try {
      return await Promise.race([work, late.promise, this.#stopping.promise])
    } finally {
      cancel()
    }
  }

  async #patiently(work: Promise<unknown>): Promise<void> {
    const enough = Promise.withResolvers<void>()
    const cancel = this.#options.timers.after(patienceMs, enough.resolve, { background: true })
    await Promise.race([work, enough.promise])
    cancel()
  }
}

/** The wall clock may be set back, and must not extend a wait. */
function isWithin(ms: number, { from, now }: { from: number; now: number }): boolean {
  return now >= from && now - from < ms
}
