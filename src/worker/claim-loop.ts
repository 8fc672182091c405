/**
 * The one loop that takes work for all queues of a worker. It claims only what it has free slots for,
 * shares the slots by weight between the queues that have work, and watches the others until they do.
 * Claims and settlements of one turn of the event loop share a commit of the store.
 */
import type { Backend, Delivery } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'
import type { Ports } from '../core/ports.ts'
import { WeightedRotation } from '../core/weighted-rotation.ts'
import type { Source } from './source.ts'

/** First and longest rest after a claim that failed. */
const restMs = 250
const restMsMax = 10_000

export interface ClaimLoopSetup {
  readonly backend: Pick<Backend, 'receive' | 'whenReady'>
  readonly ports: Pick<Ports, 'timers'>
  readonly sources: readonly Source[]
  readonly concurrency: number
  /** Kill switches that the environment of this process has on. */
  readonly heldNames: readonly string[]
  /** Takes a delivery over; `onFreed` gives its slot back. */
  readonly run: (source: Source, delivery: Delivery, onFreed: () => void) => void
  /** Takes a delivery that must not be run now, and gives it back to its queue. */
  readonly handBack: (source: Source, delivery: Delivery) => Promise<void>
  readonly onFailure: (source: Source, error: unknown, retryInMs: number) => void
}

export class ClaimLoop {
  readonly #setup: ClaimLoopSetup
  readonly #rotation = new WeightedRotation<Source>()
  readonly #stopping = new AbortController()
  readonly #failures = new Map<Source, number>()
  /** Claims on their way, and what has to be handed back before the next one. */
  readonly #claims = new Set<Promise<void>>()
  #free: number
  #isScheduled = false
  /** A queue with a job that must run alone. */
  #alone: Source | undefined

  constructor(setup: ClaimLoopSetup) {
    this.#setup = setup
    this.#free = setup.concurrency
  }

  start(): void {
    this.#schedule()
  }

  /** Claims nothing more; answers when what was on its way has come and is being handed back. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#claims)
  }

  #schedule(): void {
    if (this.#isScheduled || this.#stopping.signal.aborted) return
    this.#isScheduled = true
    this.#setup.ports.timers.soon(() => this.#turn())
  }

  #turn(): void {
    this.#isScheduled = false
    if (this.#stopping.signal.aborted || this.#free === 0) return
    // Slots that come free while a claim is on its way would all go to the others.
    if (this.#claims.size > 0) return
    if (this.#alone !== undefined) {
      if (this.#free === this.#setup.concurrency) this.#begin(this.#alone, 1)
      return
    }
    const wanted = new Map<Source, number>()
    const isWilling = (source: Source): boolean =>
      source.state === 'lively' &&
      source.running + (wanted.get(source) ?? 0) < source.setup.concurrency &&
      (wanted.get(source) ?? 0) < limits.messagesPerCall.max
    for (let slots = this.#free; slots > 0; slots -= 1) {
      const source = this.#rotation.next(this.#setup.sources.filter(isWilling))
      if (source === undefined) break
      wanted.set(source, (wanted.get(source) ?? 0) + 1)
    }
    for (const [source, count] of wanted) this.#begin(source, count)
  }

  #begin(source: Source, count: number): void {
    this.#waitFor(this.#claim(source, count))
  }

  /** Claims nothing before this is done. */
  #waitFor(work: Promise<void>): void {
    const waiting = work.finally(() => {
      this.#claims.delete(waiting)
      this.#schedule()
    })
    this.#claims.add(waiting)
  }

  async #claim(source: Source, count: number): Promise<void> {
    this.#occupy(source, count)
    source.state = 'claiming'
    try {
      const deliveries = await this.#receive(source, count)
      this.#failures.delete(source)
      this.#take(source, count, deliveries)
    } catch (error) {
      this.#vacate(source, count)
      this.#rest(source, error)
    }
  }

  async #receive(source: Source, max: number): Promise<readonly Delivery[]> {
    const { backend, heldNames } = this.#setup
    const request = {
      queue: source.setup.name,
      waitMs: 0,
      ...(heldNames.length > 0 && { heldNames }),
    }
    if (!source.isFifo) return backend.receive({ ...request, max })
    // One receive may be given several messages of a group, and they must not be run at once. A group
    // that has given one is closed to the next receive, though they share a transaction.
    const singles = Array.from({ length: max }, () => backend.receive({ ...request, max: 1 }))
    const settled = await Promise.allSettled(singles)
    const received = settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    const failed = settled.find((one) => one.status === 'rejected')
    if (failed !== undefined && received.length === 0) throw failed.reason
    return received
  }

  #take(source: Source, count: number, deliveries: readonly Delivery[]): void {
    const missing = count - deliveries.length
    if (missing > 0) this.#vacate(source, missing)
    if (this.#stopping.signal.aborted) {
      for (const delivery of deliveries) void this.#setup.handBack(source, delivery)
      this.#vacate(source, deliveries.length)
      return
    }
    const isAlone = this.#alone === source && count === 1
    for (const delivery of deliveries) {
      if (isAlone || !isSuspect(delivery)) {
        this.#setup.run(source, delivery, () => {
          if (isAlone) this.#alone = undefined
          this.#vacate(source, 1)
        })
      } else {
        this.#alone = source
        this.#waitFor(this.#setup.handBack(source, delivery))
        this.#vacate(source, 1)
      }
    }
    if (isAlone && deliveries.length === 0) this.#alone = undefined
    if (missing === 0) source.state = 'lively'
    else void this.#watch(source)
  }

  /** Leaves an empty queue alone until there may be something in it. */
  async #watch(source: Source): Promise<void> {
    const { backend, heldNames } = this.#setup
    source.state = 'watching'
    this.#rotation.leave(source)
    try {
      await backend.whenReady({
        queue: source.setup.name,
        signal: this.#stopping.signal,
        ...(heldNames.length > 0 && { heldNames }),
      })
    } catch (error) {
      this.#rest(source, error)
      return
    }
    source.state = 'lively'
    this.#schedule()
  }

  /** Leaves a queue alone for a while whose claim has failed; longer each time. */
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
        source.state = 'lively'
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
    this.#schedule()
  }
}

/**
 * A job on its last attempt whose worker may have died of the one before. It runs alone, so that it
 * cannot take those down that have only been beside it: they are handed back, and then run alone too.
 */
function isSuspect({ job }: Delivery): boolean {
  return job?.lostBefore === true && job.maxAttempts > 1 && job.attempt >= job.maxAttempts
}
