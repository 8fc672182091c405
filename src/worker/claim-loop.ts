/**
 * The loop that claims for all queues of a worker. It claims for its free slots, and ahead of them if
 * handlers are fast. It shares the claims by weight between the queues that have work, and watches the empty
 * ones. Claims and settlements of one turn of the event loop share a commit.
 */
import type { Backend, Delivery, Receive } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'
import { microtask } from '../core/microtask.ts'
import type { Ports } from '../core/ports.ts'
import { WeightedRotation } from '../core/weighted-rotation.ts'
import { type Claimed, ClaimsAhead } from './claims-ahead.ts'
import type { HeldLease } from './lease-keeper.ts'
import type { Source } from './source.ts'

/** The first pause after a failed claim. It grows with each failure. */
const restMs = 250
const restMsMax = 10_000

export interface ClaimLoopSetup {
  readonly backend: Pick<Backend, 'receive' | 'whenReady'>
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  readonly sources: readonly Source[]
  readonly concurrency: number
  /** Kill switches that are on in the environment of this process. */
  readonly heldNames: readonly string[]
  /** Keeps the lease of a delivery, counted from the claim. */
  readonly hold: (source: Source, delivery: Delivery, claim: Claim) => HeldLease
  /** Runs a delivery; `onFreed` is called when its slot is free again. */
  readonly run: (claimed: Claimed, onFreed: () => void) => void
  /** Releases a delivery that must not be run now, as if it had not been received. */
  readonly release: (claimed: Claimed) => Promise<void>
  /** Called when no delivery waits any more, so that settlements need not wait for others. */
  readonly onDrained: () => void
  readonly onFailure: (source: Source, error: unknown, retryInMs: number) => void
}

/** One call that claims deliveries, and when it was made. */
export interface Claim {
  readonly claimedMs: number
  /** Whether the delivery has to wait for a slot. */
  readonly isWaiting: boolean
}

/** How many deliveries to claim from a queue: for free slots, and ahead of them. */
interface Wanted {
  slots: number
  ahead: number
}

export class ClaimLoop {
  readonly #setup: ClaimLoopSetup
  readonly #ahead: ClaimsAhead
  readonly #rotation = new WeightedRotation<Source>()
  readonly #stopping = new AbortController()
  readonly #failures = new Map<Source, number>()
  /** Ends the watches of empty queues. */
  #watching = new AbortController()
  /** Claims under way, and releases that must finish before the next claim. */
  readonly #claims = new Set<Promise<void>>()
  #free: number
  /** How many deliveries claims have returned. */
  #claimed = 0
  #whenQuiet: (() => void)[] = []
  #isScheduled = false
  #isStarting = false
  /** A queue with a job that must run alone. */
  #alone: Source | undefined

  constructor(setup: ClaimLoopSetup) {
    this.#setup = setup
    this.#free = setup.concurrency
    this.#ahead = new ClaimsAhead({
      ports: setup.ports,
      release: (waiting) => this.#releaseAll(waiting),
    })
  }

  /** Whether claimed deliveries wait for a slot, so that more settlements will follow soon. */
  get hasWaiting(): boolean {
    return this.#ahead.size > 0
  }

  start(): void {
    this.#schedule()
  }

  /**
   * Stops claiming. Resolves when claims under way have returned. Deliveries that do not run are released.
   */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#watching.abort()
    this.#releaseAll(this.#ahead.clear())
    await Promise.all(this.#claims)
  }

  /** Whether a claim found every queue empty, and no claimed delivery waits or runs. */
  get isQuiet(): boolean {
    return (
      this.#free === this.#setup.concurrency &&
      this.#claims.size === 0 &&
      this.#ahead.size === 0 &&
      this.#alone === undefined &&
      this.#setup.sources.every(({ state }) => state === 'watching')
    )
  }

  async quiet(): Promise<void> {
    while (!this.isQuiet) {
      await new Promise<void>((resolve) => {
        this.#whenQuiet.push(resolve)
      })
    }
  }

  /** Claims from each queue again. Resolves when the loop is quiet, with whether all queues were empty. */
  async recheck(): Promise<boolean> {
    const before = this.#claimed
    this.#watching.abort()
    this.#watching = new AbortController()
    for (const source of this.#setup.sources) source.state = 'ready'
    this.#schedule()
    await this.quiet()
    return this.#claimed === before
  }

  #tellQuiet(): void {
    if (this.#whenQuiet.length === 0 || !this.isQuiet) return
    for (const resolve of this.#whenQuiet.splice(0)) resolve()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#stopping.signal.aborted) return
    this.#isScheduled = true
    this.#setup.ports.timers.soon(() => this.#turn())
  }

  /** For an idle worker: nothing else will finish in this turn of the event loop. */
  #scheduleNow(): void {
    if (this.#isScheduled || this.#stopping.signal.aborted) return
    this.#isScheduled = true
    microtask(() => this.#turn())
  }

  #turn(): void {
    this.#isScheduled = false
    if (this.#stopping.signal.aborted || this.#free === 0) return
    // Otherwise the other queues would get all slots that become free during a claim.
    if (this.#claims.size > 0) return
    if (this.#alone !== undefined) {
      if (this.#free === this.#setup.concurrency) this.#begin(this.#alone, { slots: 1, ahead: 0 })
      return
    }
    for (const [source, wanted] of this.#wanted()) this.#begin(source, wanted)
  }

  /**
   * Shares free slots by weight: starts waiting deliveries, and returns what to claim for the other slots.
   */
  #wanted(): ReadonlyMap<Source, Wanted> {
    const wanted = new Map<Source, Wanted>()
    const slotsOf = (source: Source): number => wanted.get(source)?.slots ?? 0
    let slots = 0
    this.#isStarting = true
    while (this.#free > slots) {
      const willing = this.#willing(slotsOf)
      const source = this.#rotation.next(willing)
      if (source === undefined) break
      const waiting = this.#ahead.next(source)
      if (waiting !== undefined) {
        this.#occupy(source, 1)
        this.#run(waiting)
        continue
      }
      slots += 1
      wanted.set(source, { slots: slotsOf(source) + 1, ahead: 0 })
    }
    this.#isStarting = false
    if (this.#ahead.size === 0) this.#setup.onDrained()
    const ahead = this.#ahead.expectedStarts(slots) - slots
    const weights = [...wanted.keys()].reduce((sum, { weight }) => sum + weight, 0)
    for (const [source, one] of wanted) {
      const room = limits.messagesPerCall.max - one.slots
      one.ahead = Math.max(0, Math.min(room, Math.floor((ahead * source.weight) / weights)))
    }
    return wanted
  }

  /** Queues that may run another handler and, as far as is known, have work. */
  #willing(slotsOf: (source: Source) => number): readonly Source[] {
    return this.#setup.sources.filter((source) => {
      const slots = slotsOf(source)
      if (source.running + slots >= source.setup.concurrency) return false
      return (
        this.#ahead.has(source) || (source.state === 'ready' && slots < limits.messagesPerCall.max)
      )
    })
  }

  #begin(source: Source, wanted: Wanted): void {
    this.#waitFor(this.#claim(source, wanted))
  }

  /** Blocks further claims until this is done. */
  #waitFor(work: Promise<void>): void {
    const waiting = work.finally(() => {
      this.#claims.delete(waiting)
      this.#startWaiting()
      this.#schedule()
      this.#tellQuiet()
    })
    this.#claims.add(waiting)
  }

  async #claim(source: Source, wanted: Wanted): Promise<void> {
    const { slots } = wanted
    this.#occupy(source, slots)
    source.state = 'claiming'
    const claimedMs = this.#setup.ports.clock.monotonic()
    const claimed: Claimed[] = []
    // Hold every lease before any handler starts, including those of other queues in the same commit.
    const onLeased = (deliveries: readonly Delivery[]): void => {
      this.#claimed += deliveries.length
      for (const delivery of deliveries) {
        const claim = { claimedMs, isWaiting: claimed.length >= slots }
        claimed.push({ source, delivery, lease: this.#setup.hold(source, delivery, claim) })
      }
    }
    try {
      await this.#receive(source, wanted, onLeased)
      this.#failures.delete(source)
      this.#take(source, slots, claimed)
    } catch (error) {
      this.#releaseAll(claimed)
      this.#vacate(source, slots)
      this.#rest(source, error)
    }
  }

  async #receive(
    source: Source,
    { slots: max, ahead }: Wanted,
    onLeased: NonNullable<Receive['onLeased']>,
  ): Promise<void> {
    const { backend, heldNames } = this.#setup
    const request = {
      queue: source.setup.name,
      waitMs: 0,
      onLeased,
      ...(heldNames.length > 0 && { heldNames }),
    }
    if (!source.isFifo) {
      await backend.receive({ ...request, max, ...(ahead > 0 && { prefetch: ahead }) })
      return
    }
    // One receive may return several messages of a group, which must not run at the same time. A group with a
    // leased message is closed to the next receive, even in the same transaction.
    const singles = Array.from({ length: max }, () => backend.receive({ ...request, max: 1 }))
    const settled = await Promise.allSettled(singles)
    const failed = settled.find((one) => one.status === 'rejected')
    const hasReceived = settled.some((one) => one.status === 'fulfilled' && one.value.length > 0)
    if (failed !== undefined && !hasReceived) throw failed.reason
  }

  #take(source: Source, slots: number, claimed: readonly Claimed[]): void {
    const missing = Math.max(0, slots - claimed.length)
    if (missing > 0) this.#vacate(source, missing)
    if (this.#stopping.signal.aborted) {
      this.#releaseAll(claimed)
      this.#vacate(source, slots - missing)
      return
    }
    const isAlone = this.#alone === source && slots === 1
    // Before any handler starts, because a handler that blocks must not prevent releasing the rest.
    this.#ahead.add(source, claimed.slice(slots))
    // Start in order: a slot that is free at once must not be used before the others of this claim.
    this.#isStarting = true
    for (const one of claimed.slice(0, slots)) {
      if (isAlone || !isSuspect(one.delivery)) {
        this.#run(one, () => {
          if (isAlone) this.#alone = undefined
        })
      } else {
        this.#alone = source
        this.#waitFor(this.#setup.release(one))
        this.#vacate(source, 1)
      }
    }
    this.#isStarting = false
    if (isAlone && claimed.length === 0) this.#alone = undefined
    if (missing === 0) source.state = 'ready'
    else void this.#watch(source)
  }

  /** Runs a delivery in a slot that is occupied. */
  #run(claimed: Claimed, onFreed?: () => void): void {
    const { clock } = this.#setup.ports
    const startedMs = clock.monotonic()
    let isFreed = false
    this.#setup.run(claimed, () => {
      if (isFreed) return
      isFreed = true
      onFreed?.()
      this.#ahead.noteEnd(clock.monotonic() - startedMs)
      this.#vacate(claimed.source, 1)
    })
  }

  /** Starts waiting deliveries in free slots, until it is the turn of a queue that must be claimed from. */
  #startWaiting(): void {
    // A handler that returns at once frees its slot in here, and this loop continues with it. During a claim
    // nothing starts: the other queues would get all slots that become free.
    if (this.#isStarting || this.#ahead.size === 0 || this.#claims.size > 0) return
    this.#isStarting = true
    while (this.#free > 0) {
      const willing = this.#willing(noSlots)
      const source = this.#rotation.peek(willing)
      const next = source && this.#ahead.next(source)
      if (next === undefined) break
      this.#rotation.next(willing)
      this.#occupy(next.source, 1)
      this.#run(next)
    }
    this.#isStarting = false
    if (this.#ahead.size === 0) this.#setup.onDrained()
  }

  #releaseAll(claimed: readonly Claimed[]): void {
    for (const one of claimed) void this.#setup.release(one)
    this.#setup.onDrained()
  }

  /** Skips an empty queue until it may have messages. */
  async #watch(source: Source): Promise<void> {
    const { backend, heldNames } = this.#setup
    const { signal } = this.#watching
    source.state = 'watching'
    this.#rotation.leave(source)
    try {
      await backend.whenReady({
        queue: source.setup.name,
        signal,
        ...(heldNames.length > 0 && { heldNames }),
      })
    } catch (error) {
      if (!signal.aborted) this.#rest(source, error)
      return
    }
    if (signal.aborted) return
    source.state = 'ready'
    this.#scheduleNow()
  }

  /** Skips a queue for a while after a failed claim, longer each time. */
  #rest(source: Source, error: unknown): void {
    if (this.#stopping.signal.aborted) return
    const failures = this.#failures.get(source) ?? 0
    this.#failures.set(source, failures + 1)
    const delayMs = Math.min(restMsMax, restMs * 2 ** failures)
    source.state = 'resting'
    this.#rotation.leave(source)
    this.#setup.onFailure(source, error, delayMs)
    this.#setup.ports.timers.after(
      delayMs,
      () => {
        source.state = 'ready'
        this.#schedule()
      },
      { background: true },
    )
  }

  #occupy(source: Source, count: number): void {
    this.#free -= count
    source.running += count
  }

  #vacate(source: Source, count: number): void {
    this.#free += count
    source.running -= count
    this.#startWaiting()
    this.#schedule()
    this.#tellQuiet()
  }
}

/**
 * A job on its last attempt whose previous attempt may have crashed its worker. It runs alone, so that it
 * cannot take other jobs down with it. The others are released, and then run alone too.
 */
function isSuspect({ job }: Delivery): boolean {
  return job?.lostBefore === true && job.maxAttempts > 1 && job.attempt >= job.maxAttempts
}

const noSlots = (): number => 0
