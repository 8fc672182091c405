/**
 * Parked receives: long polls that found nothing and wait. They are served in the order in which
 * they came, inside the very transaction that makes a message ready, so a send and the receive that
 * waits for it share one commit.
 */
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import type { Delivery, Receive } from '../backend.ts'
import { receiveNow } from './claiming.ts'
import type { Session } from './session.ts'
import type { StoreTransaction } from './transaction.ts'
import { hasSomethingReady, nextDueAt } from './waking.ts'

/** Pause before a store is looked at again that could not be read. */
const lookAgainAfterFaultMs = 100

export interface ParkingOptions {
  readonly ports: Ports
  readonly session: () => Session
  /** Asks for a transaction, in which parked receives are served. */
  readonly nudge: () => void
}

interface Parked {
  readonly request: Receive
  readonly finish: (outcome: { deliveries: readonly Delivery[] } | { error: unknown }) => void
}

interface Waiting {
  /** In order of arrival. */
  readonly receives: Set<Parked>
  cancelTimer: (() => void) | undefined
}

export class Parking {
  readonly #options: ParkingOptions
  readonly #waiting = new Map<string, Waiting>()
  /** Queues that may have something for a parked receive. */
  readonly #promising = new Set<string>()

  constructor(options: ParkingOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** Waits until a message can be leased, the time is up, or the caller gives up. */
  park(request: Receive, waitMs: number): Promise<readonly Delivery[]> {
    return new Promise((resolve, reject) => {
      const { signal, queue } = request
      const parked: Parked = {
        request,
        finish: (outcome) => {
          cancelDeadline()
          signal?.removeEventListener('abort', giveUp)
          this.#remove(queue, parked)
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.deliveries)
        },
      }
      const giveUp = (): void => parked.finish({ error: new MillraceError('aborted') })
      const cancelDeadline = this.#options.ports.timers.after(waitMs, () =>
        parked.finish({ deliveries: [] }),
      )
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#waitingFor(queue).receives.add(parked)
      // Something may have arrived since the receive looked.
      this.#look(queue)
    })
  }

  /** Looks at every queue somebody waits for: another process has changed the store. */
  lookEverywhere(): void {
    for (const name of this.#waiting.keys()) this.#look(name)
  }

  /** Serves parked receives inside a transaction; the answer tells them after the commit. */
  serve(tx: StoreTransaction): () => void {
    const served: (() => void)[] = []
    if (this.#waiting.size > 0) {
      for (const name of this.#promising) tx.gained.add(name)
      // A receive may dead-letter a message, and so add a queue while the loop runs.
      for (const name of tx.gained) this.#serveQueue(tx, name, served)
    }
    return () => {
      for (const finish of served) finish()
      this.#promising.clear()
      for (const name of tx.touched) if (this.#waiting.has(name)) this.#look(name)
    }
  }

  /** Ends all parked receives empty-handed. */
  clear(): void {
    for (const { receives } of [...this.#waiting.values()]) {
      for (const parked of [...receives]) parked.finish({ deliveries: [] })
    }
  }

  #serveQueue(tx: StoreTransaction, name: string, served: (() => void)[]): void {
    for (const parked of this.#waiting.get(name)?.receives ?? []) {
      try {
        const deliveries = receiveNow(tx, parked.request, true)
        if (deliveries.length === 0) return
        served.push(() => parked.finish({ deliveries }))
      } catch (error) {
        if (!(error instanceof MillraceError)) throw error
        served.push(() => parked.finish({ error }))
      }
    }
  }

  /** Serves the queue soon if it has something, or plans to look again when it will. */
  #look(name: string): void {
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return
    waiting.cancelTimer?.()
    waiting.cancelTimer = undefined
    const waitMs = this.#worthwhileIn(name)
    if (waitMs === 0) {
      this.#promising.add(name)
      this.#options.nudge()
    } else if (waitMs < Number.POSITIVE_INFINITY) {
      const lookAgain = (): void => this.#look(name)
      const { timers } = this.#options.ports
      waiting.cancelTimer = timers.after(waitMs, lookAgain, { background: true })
    }
  }

  /** How long until a receive may find something, as far as is known now; 0 when it may already. */
  #worthwhileIn(name: string): number {
    try {
      const session = this.#options.session()
      const now = session.refresh()
      const queue = session.topology.find(name)
      // A receive from a queue that is gone has an answer too.
      if (queue === undefined || hasSomethingReady(session, queue)) return 0
      return Math.max(0, nextDueAt(session, queue) - now)
    } catch {
      // Nobody waits for this look, so a store that fails is not reported here but tried again.
      return lookAgainAfterFaultMs
    }
  }

  #waitingFor(name: string): Waiting {
    let waiting = this.#waiting.get(name)
    if (waiting === undefined) {
      waiting = { receives: new Set(), cancelTimer: undefined }
      this.#waiting.set(name, waiting)
    }
    return waiting
  }

  #remove(name: string, parked: Parked): void {
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return
    waiting.receives.delete(parked)
    if (waiting.receives.size > 0) return
    waiting.cancelTimer?.()
    this.#waiting.delete(name)
  }
}
