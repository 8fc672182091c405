/**
 * Makes the ticks of an app's schedules. Every process that has the app open does; the store lets one of
 * them win each tick. A schedule whose message cannot be made is tried a few times, then its tick is
 * given up and reported, and none of that keeps the others from ticking.
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
  /** Which app and stage they are of. */
  readonly scope: string
  readonly schedules: readonly PlannedSchedule[]
  readonly timers: Timers
  readonly log: Logger
  /** Pause between two looks while nothing is due sooner. Default 1000. */
  readonly intervalMs?: number
  readonly onTickFailure: (failure: TickFailure) => void
  readonly onFailure?: (failure: ServiceFailure) => void
}

export interface TickFailure {
  /** The key of the schedule. */
  readonly schedule: string
  /** The moment of the tick. */
  readonly at: Date
  readonly error: unknown
  /** 1 for the first. */
  readonly tries: number
  /** Null: the tick was given up, and the schedule has moved on. */
  readonly retryInMs: number | null
}

const defaultIntervalMs = 1_000

/** What follows the first tries; after the last one a tick is given up. */
const retriesMs: readonly number[] = [1_000, 5_000]

/** A payload function that takes longer has failed. */
const payloadMsMax = 10_000

/** So long a look waits for the ticks that it began, before it leaves them to themselves. */
const patienceMs = 500

interface Tries {
  /** The tick that is due, whichever is made in its place. */
  readonly dueAt: number
  readonly failures: number
  readonly failedAt: number
  readonly retryInMs: number
}

export class Scheduler extends Service {
  readonly #options: SchedulerOptions
  readonly #planned: ReadonlyMap<string, PlannedSchedule>
  /** Ticks under way, by schedule. */
  readonly #running = new Map<string, Promise<void>>()
  readonly #tries = new Map<string, Tries>()
  /** When it was last said which schedules this process has. */
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
    // What ticked may be due again at once, when several ticks are made up for.
    const nextInMs = due.nextAt === null ? undefined : due.nextAt - due.now
    return { more: begun.length > 0, ...(nextInMs !== undefined && { nextInMs }) }
  }

  async #renew(now: number): Promise<void> {
    if (isWithin(renewalMs, { from: this.#renewedAt, now })) return
    const { store, schedules, scope } = this.#options
    await renewSchedules(store, schedules, scope)
    this.#renewedAt = now
  }

  /** Begins a tick, unless there is a reason to leave it for now. */
  #begin(record: ScheduleRecord, { now }: DueSchedules): Promise<void> | undefined {
    const { schedule: name, rule } = record
    const planned = this.#planned.get(name)
    // Another version of the app has declared another rule, and will see to it as long as it runs.
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
      // Somebody else had more luck with it, or has reported it already.
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

  /** Fails when it takes too long, or the scheduler stops meanwhile. */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>()
    const cancel = this.#options.timers.after(
      payloadMsMax,
      () => late.reject(new Error(`The payload was not made within ${payloadMsMax} ms.`)),
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

/** Wall time may be set back, and must not keep anything waiting for longer than asked. */
function isWithin(ms: number, { from, now }: { from: number; now: number }): boolean {
  return now >= from && now - from < ms
}

/** It says nothing about this schedule: the agent waits, and everything is tried again. */
function isOfStore(error: unknown): boolean {
  return error instanceof MillraceError && error.code.startsWith('store_')
}
