/**
 * Runs the work of a test and moves its time. Between two calls nothing runs. While time moves, workers and
 * services run as in production, and time waits for them at each step.
 */
import type { AppMaintenanceSetup, Maintenance } from '../app/maintenance.ts'
import type { TestParts } from '../app/open-app.ts'
import { describeGiven } from '../core/checks.ts'
import { type Duration, durationMs, formatDuration } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { DrivenWorker } from '../worker/worker.ts'
import type { UntypedWorkerOptions } from '../worker/worker-options.ts'
import { cancelTimeout, realTimeout } from './real-timers.ts'
import { settleTurns, type VirtualClock } from './virtual-clock.ts'
import type { WorkDone, WorkRecord } from './work-record.ts'

export interface DrainOptions {
  /** Rejects with the first error of a handler, after all work was done. Default: false. */
  readonly rethrow?: boolean
  /** How many attempts may start before the call rejects. It ends work that never ends. Default 10,000. */
  readonly limit?: number
}

export interface AdvanceOptions extends DrainOptions {
  /** Whether handlers run. Without, only time passes: schedules tick and leases expire. Default: true. */
  readonly work?: boolean
  /**
   * Lets time pass while handlers run, for tests of timeouts and of handlers that never end. Default: time
   * waits for them.
   */
  readonly whileRunning?: boolean
}

const drainOptions: OptionNames<DrainOptions> = { rethrow: true, limit: true }
const advanceOptions: OptionNames<AdvanceOptions> = {
  ...drainOptions,
  work: true,
  whileRunning: true,
}

const limitDefault = 10_000

/** In real time. A handler that waits for virtual time would otherwise let the test time out silently. */
const hintAfterMs = 2_000

export interface DriverSetup {
  readonly clock: VirtualClock
  readonly record: WorkRecord
  readonly maintain: (setup: AppMaintenanceSetup) => Maintenance
}

/** Services that have not been started. */
const noMaintenance: Maintenance = {
  wake: () => undefined,
  idle: async () => undefined,
  close: async () => undefined,
}

export class TestDriver implements TestParts {
  readonly #setup: DriverSetup
  readonly #workers: DrivenWorker[] = []
  #maintenance = noMaintenance
  /** The events after which the services last looked for work. */
  #eventsSeen = 0
  #startsMax = Number.POSITIVE_INFINITY

  constructor(setup: DriverSetup) {
    this.#setup = setup
    setup.record.onStart = () => this.#checkLimit()
  }

  startMaintenance(setup: AppMaintenanceSetup): Maintenance {
    this.#maintenance = this.#setup.maintain(setup)
    return this.#maintenance
  }

  workerOptions(options: UntypedWorkerOptions): UntypedWorkerOptions {
    return this.#setup.record.watched(options)
  }

  onWorker(worker: DrivenWorker): void {
    this.#workers.push(worker)
  }

  async drain(options: DrainOptions = {}): Promise<WorkDone> {
    refuseUnknownOptions(options, drainOptions)
    return this.#limited(options, () => this.#drainAll())
  }

  async advance(duration: Duration, options: AdvanceOptions = {}): Promise<WorkDone> {
    refuseUnknownOptions(options, advanceOptions)
    return this.#pass(durationMs(duration), options)
  }

  async advanceTo(time: Date, options: AdvanceOptions = {}): Promise<WorkDone> {
    refuseUnknownOptions(options, advanceOptions)
    const now = this.#setup.clock.now()
    const at = time instanceof Date ? time.getTime() : Number.NaN
    if (at >= now) return this.#pass(at - now, options)
    const given = Number.isNaN(at) ? describeGiven(time) : new Date(at).toISOString()
    const allowed = `a Date, not before the present time ${new Date(now).toISOString()}`
    throw MillraceError.invalid([{ field: 'time', given, allowed }])
  }

  #pass(ms: number, options: AdvanceOptions): Promise<WorkDone> {
    const { work = true, whileRunning = false } = options
    const { clock } = this.#setup
    return this.#limited(options, async () => {
      if (!work) {
        this.#maintenance.wake()
        await clock.advance(ms, () => this.#settleServices())
        return
      }
      if (!whileRunning) await this.#drainAll()
      for (const worker of this.#workers) worker.start()
      await clock.advance(ms, () => (whileRunning ? this.#settleServices() : this.#settle()))
      if (!whileRunning) await this.#drainAll()
    })
  }

  /** Runs everything that is due now, and stops the workers. */
  async #drainAll(): Promise<void> {
    const { record } = this.#setup
    let events: number
    do {
      events = record.events
      this.#maintenance.wake()
      await this.#maintenance.idle()
      await this.#hinting(Promise.all(this.#workers.map((worker) => worker.drain())))
    } while (record.events !== events && record.starts <= this.#startsMax)
    this.#eventsSeen = events
  }

  /** Waits until the workers and services have done everything that is due now. */
  async #settle(): Promise<void> {
    const { record } = this.#setup
    for (;;) {
      await this.#settleServices()
      await this.#hinting(Promise.all(this.#workers.map((worker) => worker.quiet())))
      if (record.events === this.#eventsSeen) return
      // Handlers may have changed schedules or started a redrive.
      this.#eventsSeen = record.events
      this.#maintenance.wake()
    }
  }

  async #settleServices(): Promise<void> {
    await settleTurns()
    await this.#maintenance.idle()
  }

  async #limited(options: DrainOptions, run: () => Promise<void>): Promise<WorkDone> {
    const { rethrow = false, limit = limitDefault } = options
    const { record } = this.#setup
    const { position } = record
    this.#startsMax = record.starts + limit
    await run()
    if (record.starts > this.#startsMax) throw endless(limit)
    const done = record.doneSince(position)
    const [first] = done.errors
    if (rethrow && first !== undefined) throw first.error
    return done
  }

  #checkLimit(): void {
    const { record } = this.#setup
    if (record.starts <= this.#startsMax) return
    for (const worker of this.#workers) void worker.stop()
  }

  /** Names the handlers that a call waits for, if it takes long. */
  async #hinting(work: Promise<unknown>): Promise<void> {
    const hint = realTimeout(() => {
      const running = [...new Set(this.#setup.record.running)].join(', ')
      if (running === '') return
      const message =
        `The test has waited ${formatDuration(hintAfterMs)} for running handlers: ${running}. Virtual ` +
        'time waits for them too. To test a timeout, use advance(…, { whileRunning: true }).'
      process.emitWarning(message, { type: 'MillraceWarning', code: 'handlers_running' })
    }, hintAfterMs)
    hint.unref?.()
    try {
      await work
    } finally {
      cancelTimeout(hint)
    }
  }
}

function endless(limit: number): MillraceError {
  const given = `more than ${limit} attempts in one call`
  const allowed =
    `at most ${limit}: a handler may release its work again and again, or send to its own queue. ` +
    'Pass a higher limit if that many are expected'
  return MillraceError.invalid([{ field: 'limit', given, allowed }])
}
