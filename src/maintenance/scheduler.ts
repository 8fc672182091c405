/**
 * Fires the ticks of an app's schedules, in every process that has the app open. The store lets one process
 * win each tick. If a message cannot be created, the tick is retried a few times, then abandoned and
 * reported. Other schedules are not affected.
 */
import type { DueSchedules, ScheduleRecord, ScheduleStore } from '../backends/schedule-store.ts'
import { errorSummary } from '../core/error-summary.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'
import { renewalMs, renewSchedules } from '../flows/ensure-schedules.ts'
import { chooseTick } from '../flows/missed-ticks.ts'
import type { PlannedSchedule } from '../flows/planned-schedules.ts'
import type { Logger } from '../observability/logger.ts'
import { Service, type ServiceFailure, type SliceEnd } from './service.ts'

export interface SchedulerOptions {
  readonly store: Pick<ScheduleStore, 'now' | 'due' | 'tick' | 'renew' | 'ensure'>
  /** The app and stage of the schedules. */
  readonly scope: string
  readonly schedules: readonly PlannedSchedule[]
  readonly timers: Timers
  readonly log: Logger
  /** Pause between two checks if nothing is due sooner. Default: 1000. */
  readonly intervalMs?: number
  readonly onTickFailure: (failure: TickFailure) => void
  readonly onFailure?: (failure: ServiceFailure) => void
}

export interface TickFailure {
  /** The key of the schedule. */
  readonly schedule: string
  /** The time of the tick. */
  readonly at: Date
  readonly error: unknown
  /** 1 for the first try. */
  readonly tries: number
  /** Null: the tick was abandoned. */
  readonly retryInMs: number | null
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
  readonly #planned: ReadonlyMap<string, PlannedSchedule>
  /** Running ticks, by schedule. */
  readonly #running = new Map<string, Promise<void>>()
  readonly #tries = new Map<string, Tries>()
  /** When this process last renewed its schedules in the store. */
  #renewedAt = 0
  #storeError: unknown
  #stopping = Promise.withResolvers<never>()

  constructor(options: SchedulerOptions) {
    const { timers, intervalMs = defaultIntervalMs, onFailure, schedules } = options
    super({ timers, intervalMs, onFailure, slice: () => this.#slice() })
    this.#options = options
    this.#planned = new Map(schedules.map((planned) => [planned.name, planned]))
    this.#stopping.promise.catch(() => undefined)
  }

  override async stop(): Promise<void> {
    const ended = super.stop()
    this.#stopping.reject(new MillraceError('aborted'))
    await ended
    await Promise.all(this.#running.values())
    this.#stopping = Promise.withResolvers<never>()
    this.#stopping.promise.catch(() => undefined)
  }

  async #slice(): Promise<SliceEnd> {
    const { store, scope } = this.#options
    const due = await store.due({ scope })
    const begun = due.schedules.flatMap((record) => this.#begin(record, due) ?? [])
    await this.#patiently(Promise.all(begun))
    const error = this.#storeError
    this.#storeError = undefined
    if (error !== undefined) throw error
    await this.#renew(due.now)
    // A schedule with missed ticks may be due again at once.
    const nextInMs = due.nextAt === null ? undefined : due.nextAt - due.now
    return { more: begun.length > 0, ...(nextInMs !== undefined && { nextInMs }) }
  }

  async #renew(now: number): Promise<void> {
    if (isWithin(renewalMs, { from: this.#renewedAt, now })) return
    const { store, schedules, scope } = this.#options
    await renewSchedules(store, schedules, scope)
    this.#renewedAt = now
  }

  /** Starts a tick, unless it must wait. */
  #begin(record: ScheduleRecord, { now }: DueSchedules): Promise<void> | undefined {
    const { schedule: name, rule } = record
    const planned = this.#planned.get(name)
    // Another version of the app declared another rule, and fires it while it runs.
    if (planned === undefined || planned.rule.text !== rule) return undefined
    if (this.#running.has(name)) return undefined
    const tries = this.#tries.get(name)
    if (tries && isWithin(tries.retryInMs, { from: tries.failedAt, now })) return undefined
    const tick = this.#tick(planned, record, now)
      .catch((error: unknown) => {
        this.#storeError = error
      })
      .finally(() => this.#running.delete(name))
    this.#running.set(name, tick)
    return tick
  }

  async #tick(planned: PlannedSchedule, record: ScheduleRecord, now: number): Promise<void> {
    const { name, rule, missed } = planned
    const dueAt = record.nextAt ?? now
    const choice = chooseTick({ rule, missed, dueAt, lastAt: record.lastAt, now })
    const move = { schedule: name, rule: rule.text, dueAt, ...choice, at: choice.at ?? dueAt }
    if (choice.at === null) {
      const { status } = await this.#options.store.tick(move)
      if (status === 'ticked' && choice.skipped > 0)
        this.#log(planned, 'schedule skipped', { skipped: choice.skipped })
      return
    }
    try {
      const at = new Date(choice.at)
      const emission = await this.#inTime(planned.emission({ at, id: `${name}@${choice.at}` }))
      const result = await this.#options.store.tick({ ...move, emission })
      this.#tries.delete(name)
      if (result.status === 'taken') return
      const { skipped } = choice
      this.#log(planned, 'schedule ticked', { at: at.toISOString(), id: result.id, skipped })
    } catch (error) {
      if (isOfStore(error)) throw error
      await this.#failed(planned, move, error, now)
    }
  }

  async #failed(
    planned: PlannedSchedule,
    move: Parameters<ScheduleStore['tick']>[0],
    error: unknown,
    now: number,
  ): Promise<void> {
    if (error instanceof MillraceError && error.code === 'aborted') return
    const { at, dueAt } = move
    const before = this.#tries.get(planned.name)
    const tries = (before?.dueAt === dueAt ? before.failures : 0) + 1
    const retryInMs = retriesMs[tries - 1] ?? null
    if (retryInMs === null) {
      this.#tries.delete(planned.name)
      const { status } = await this.#options.store.tick({ ...move, failure: errorSummary(error) })
      // Another process fired the tick or already reported it.
      if (status === 'taken') return
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

/** An error of the store, not of the schedule: the service waits and retries everything. */
function isOfStore(error: unknown): boolean {
  return error instanceof MillraceError && error.code.startsWith('store_')
}
