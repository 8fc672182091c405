/**
 * The loop that claims for all queues of a worker. It claims for its free slots, and ahead of them if
 * handlers are fast. It shares the claims by weight between the queues that have work, and watches the empty
 * ones. Claims and settlements of one turn of the event loop share a commit.
 */
import type { Backend, Delivery } from '../backends/backend.ts'
import { Condition } from '../core/condition.ts'
import { limits } from '../core/limits.ts'
import { microtask } from '../core/microtask.ts'
import { once } from '../core/once.ts'
import type { Ports } from '../core/ports.ts'
import { sharedByWeight, WeightedRotation } from '../core/weighted-rotation.ts'
import { type Claim, receiveFor, type Wanted } from './claim-request.ts'
import { type Claimed, ClaimsAhead } from './claims-ahead.ts'
import type { HeldLease } from './lease-keeper.ts'
import { OpenBatches } from './open-batches.ts'
import type { Source } from './source.ts'
import { SourceWatch } from './source-watch.ts'
import { isSuspect } from './suspect-job.ts'

/** Handlers that return at once must not keep a claim or a settlement from being sent. */
const startsPerTurn = 32

export interface ClaimLoopSetup {
  readonly backend: Pick<Backend, 'receive' | 'whenReady' | 'capabilities'>
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  readonly sources: readonly Source[]
  readonly concurrency: number
  /** Kill switches that are on in the environment of this process. */
  readonly heldNames: readonly string[]
  /** Keeps the lease of a delivery, counted from the claim. */
  readonly hold: (source: Source, delivery: Delivery, claim: Claim) => HeldLease
  /** Runs a delivery; `onFreed` is called when its slot is free again. */
  readonly run: (claimed: Claimed, onFreed: () => void) => void
  /** The same for the items of a batch. */
  readonly runBatch: (items: readonly Claimed[], onFreed: () => void) => void
  /** Releases a delivery that must not be run now, as if it had not been received. */
  readonly release: (claimed: Claimed) => Promise<void>
  /** Whether nothing more is claimed until the next call of `start`. */
  readonly isHeldBack: () => boolean
  /** Called when no delivery waits any more, so that settlements need not wait for others. */
  readonly onDrained: () => void
  readonly onFailure: (source: Source, error: unknown, retryInMs: number) => void
}

export class ClaimLoop {
  readonly #setup: ClaimLoopSetup
  readonly #ahead: ClaimsAhead
  readonly #batches: OpenBatches
  /** Queues with batch handlers. */
  readonly #batched: readonly Source[]
  readonly #rotation = new WeightedRotation<Source>()
  readonly #stopping = new AbortController()
  readonly #watch: SourceWatch
  /** Claims under way, and releases that must finish before the next claim. */
  readonly #claims = new Set<Promise<void>>()
  readonly #quiet = new Condition(() => this.isQuiet)
  #free: number
  /** How many deliveries claims have returned. */
  #claimed = 0
  /** How many waiting deliveries may start in this turn of the event loop. */
  #startsLeft = Number.POSITIVE_INFINITY
  #isScheduled = false
  #isStarting = false
  /** A queue with a job that must run alone. */
  #alone: Source | undefined

  constructor(setup: ClaimLoopSetup) {
    this.#setup = setup
    this.#free = setup.concurrency
    this.#ahead = new ClaimsAhead({
      ports: setup.ports,
      concurrentCalls: setup.backend.capabilities.concurrentCalls,
      release: (waiting) => this.#releaseAll(waiting),
    })
    this.#watch = new SourceWatch({
      ...setup,
      timers: setup.ports.timers,
      onSkipped: (source) => this.#rotation.leave(source),
      onReady: () => this.#schedule({ isIdle: true }),
      onRested: () => this.#schedule(),
    })
    this.#batched = setup.sources.filter(({ hasBatches }) => hasBatches)
    this.#batches = new OpenBatches({
      timers: setup.ports.timers,
      run: (items, source) => this.#runBatch(items, source),
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
    this.#watch.stop()
    this.#releaseAll(this.#ahead.clear())
    for (const items of this.#batches.clear()) {
      this.#releaseAll(items)
      for (const { source } of items.slice(0, 1)) this.#vacate(source, 1)
    }
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

  quiet(): Promise<void> {
    return this.#quiet.wait()
  }

  /** Claims from each queue again. Resolves when the loop is quiet, with whether all queues were empty. */
  async recheck(): Promise<boolean> {
    const before = this.#claimed
    this.#watch.restart()
    for (const source of this.#setup.sources) source.state = 'ready'
    this.#schedule()
    await this.quiet()
    return this.#claimed === before
  }

  /** Lets no batch wait for further items from now on. */
  hurryBatches(): void {
    this.#batches.hurry()
  }

  #schedule({ isIdle = false } = {}): void {
    if (this.#isScheduled || this.#stopping.signal.aborted) return
    this.#isScheduled = true
    const turn = (): void => this.#turn()
    // In an idle worker, nothing else will finish in this turn of the event loop.
    if (isIdle) microtask(turn)
    else this.#setup.ports.timers.soon(turn)
  }

  #turn(): void {
    this.#isScheduled = false
    if (this.#stopping.signal.aborted) return
    const { concurrentCalls } = this.#setup.backend.capabilities
    if (concurrentCalls) this.#startsLeft = startsPerTurn
    this.#startWaiting()
    if (this.#startsLeft === 0) this.#schedule()
    // Otherwise the other queues would get all slots that become free during a claim.
    if (this.#claims.size > 0 || this.#setup.isHeldBack()) return
    if (this.#alone !== undefined) {
      const isFree = this.#free === this.#setup.concurrency
      if (isFree) this.#begin(this.#alone, { slots: 1, ahead: 0, max: 1 })
      return
    }
    if (this.#free > 0 && this.#startsLeft > 0) {
      for (const [source, wanted] of this.#wanted()) this.#begin(source, wanted)
    }
    for (const source of this.#batched) this.#fill(source)
    if (concurrentCalls && this.#claims.size === 0) this.#refill()
  }

  /** Claims the next deliveries of queues whose waiting ones are being started. */
  #refill(): void {
    const { sources, concurrency } = this.#setup
    const used = sources.filter((one) => one.state === 'ready' && this.#ahead.has(one))
    for (const [source, count] of sharedByWeight(this.#ahead.room(concurrency), used)) {
      if (count > 0) this.#begin(source, { slots: 0, ahead: count - 1, max: 1 })
    }
  }

  /** Claims for the open batches of a queue that needs no further slot. */
  #fill(source: Source): void {
    if (source.state !== 'ready') return
    const max = this.#batches.room(source, 0)
    if (max > 0) this.#begin(source, { slots: 0, ahead: 0, max })
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
      wanted.set(source, { slots: slotsOf(source) + 1, ahead: 0, max: slotsOf(source) + 1 })
    }
    this.#isStarting = false
    if (this.#ahead.size === 0) this.#setup.onDrained()
    const ahead = this.#ahead.expectedStarts(slots) - slots
    const shares = sharedByWeight(ahead, [...wanted.keys()])
    for (const [source, one] of wanted) {
      if (source.hasBatches) one.max = this.#batches.room(source, one.slots)
      else one.ahead = Math.min(limits.messagesPerCall.max - one.slots, shares.get(source) ?? 0)
    }
    return wanted
  }

  /** Queues that may run another handler and, as far as is known, have work or will have it soon. */
  #willing(slotsOf: (source: Source) => number): readonly Source[] {
    return this.#setup.sources.filter((source) => {
      const slots = slotsOf(source)
      if (source.running + slots >= source.setup.concurrency) return false
      if (this.#ahead.has(source) || source.state === 'claiming') return true
      return source.state === 'ready' && slots < limits.messagesPerCall.max
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
      this.#quiet.check()
    })
    this.#claims.add(waiting)
  }

  async #claim(source: Source, wanted: Wanted): Promise<void> {
    const { slots } = wanted
    const { backend, heldNames } = this.#setup
    this.#occupy(source, slots)
    source.state = 'claiming'
    const claimedMs = this.#setup.ports.clock.monotonic()
    const claimed: Claimed[] = []
    // Hold every lease before any handler starts, including those of other queues in the same commit.
    const onLeased = (deliveries: readonly Delivery[]): void => {
      this.#claimed += deliveries.length
      for (const delivery of deliveries) {
        // Items of a batch keep their leases while they wait.
        const claim = { claimedMs, isWaiting: !source.hasBatches && claimed.length >= slots }
        claimed.push({ source, delivery, lease: this.#setup.hold(source, delivery, claim) })
      }
    }
    try {
      await receiveFor(backend, source, wanted, { onLeased, heldNames })
      if (slots === 0) this.#ahead.noteClaim(this.#setup.ports.clock.monotonic() - claimedMs)
      this.#watch.succeeded(source)
      if (source.hasBatches && this.#alone !== source) this.#takeBatches(source, wanted, claimed)
      else this.#take(source, slots, claimed)
    } catch (error) {
      this.#releaseAll(claimed)
      this.#vacate(source, slots)
      this.#watch.rest(source, error)
      this.#batches.runDue(source)
    }
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
    const rest = claimed.slice(slots)
    // Before any handler starts, because a handler that blocks must not prevent releasing the rest.
    this.#ahead.add(
      source,
      rest.filter(({ delivery }) => !isSuspect(delivery)),
    )
    for (const one of rest) if (isSuspect(one.delivery)) this.#postpone(one)
    // Start in order: a slot that is free at once must not be used before the others of this claim.
    this.#isStarting = true
    for (const one of claimed.slice(0, slots)) {
      if (isAlone || !isSuspect(one.delivery)) {
        this.#run(one, isAlone)
      } else {
        this.#postpone(one)
        this.#vacate(source, 1)
      }
    }
    this.#isStarting = false
    if (isAlone && claimed.length === 0) this.#alone = undefined
    const wasEmpty = missing > 0 || claimed.length === 0
    if (wasEmpty) void this.#watch.watch(source)
    else source.state = 'ready'
  }

  /** Releases a job that must run alone. It is claimed again when nothing else runs. */
  #postpone(suspect: Claimed): void {
    this.#alone = suspect.source
    this.#waitFor(this.#setup.release(suspect))
    this.#batches.endWindows()
  }

  /** Adds deliveries to batches. Those with a handler of their own get a slot each. */
  #takeBatches(source: Source, { slots, max }: Wanted, claimed: readonly Claimed[]): void {
    if (this.#stopping.signal.aborted) {
      this.#releaseAll(claimed)
      this.#vacate(source, slots)
      return
    }
    let used = 0
    this.#isStarting = true
    for (const one of claimed) {
      const work = source.work(one.delivery.job?.type ?? '')
      if (work === undefined) this.#setup.run(one, () => undefined)
      else if (isSuspect(one.delivery)) this.#postpone(one)
      else if (work.batch === undefined) {
        used += 1
        this.#run(one)
      } else used += this.#batches.add(one, work, work.batch) ? 1 : 0
    }
    this.#isStarting = false
    if (claimed.length >= max) source.state = 'ready'
    else void this.#watch.watch(source)
    if (this.#alone === undefined) this.#batches.runDue(source)
    else this.#batches.endWindows()
    this.#vacate(source, slots - used)
  }

  /** Runs a batch in its slot. */
  #runBatch(items: readonly Claimed[], source: Source): void {
    this.#setup.runBatch(
      items,
      once(() => this.#vacate(source, 1)),
    )
  }

  /** Runs a delivery in a slot that is occupied. */
  #run(claimed: Claimed, isAlone = false): void {
    const { clock } = this.#setup.ports
    const startedMs = clock.monotonic()
    const free = once(() => {
      if (isAlone) this.#alone = undefined
      this.#ahead.noteEnd(clock.monotonic() - startedMs)
      this.#vacate(claimed.source, 1)
    })
    this.#setup.run(claimed, free)
  }

  /** Starts waiting deliveries in free slots, until it is the turn of a queue that must be claimed from. */
  #startWaiting(): void {
    // A handler that returns at once frees its slot in here, and this loop continues with it.
    if (this.#isStarting || this.#ahead.size === 0) return
    this.#isStarting = true
    while (this.#free > 0 && this.#startsLeft > 0) {
      const willing = this.#willing(noSlots)
      const source = this.#rotation.peek(willing)
      const next = source && this.#ahead.next(source)
      if (next === undefined) break
      this.#rotation.next(willing)
      this.#startsLeft -= 1
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

  #occupy(source: Source, count: number): void {
    this.#free -= count
    source.running += count
  }

  #vacate(source: Source, count: number): void {
    this.#free += count
    source.running -= count
    this.#startWaiting()
    this.#schedule()
    this.#quiet.check()
  }
}

const noSlots = (): number => 0
