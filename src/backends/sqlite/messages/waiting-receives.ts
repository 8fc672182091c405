/**
 * Whoever waits for messages: parked receives, which are long polls that found nothing, and callers
 * who only want to know when a receive is worth it. Parked receives are served in the order in which
 * they came, inside the very transaction that makes a message ready, so a send and the receive that
 * waits for it share one commit.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Ports } from '../../../core/ports.ts'
import type { Delivery, Receive, WhenReady } from '../../backend.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { queueNotFound } from '../queues/queue-cache.ts'
import { receiveNow } from './claiming.ts'
import { worthwhileAt } from './ready-checks.ts'

/** Pause before a store is looked at again that could not be read. */
const lookAgainAfterFaultMs = 100

/** However far away the next event is, a store that somebody waits for is looked at so often. */
const lookAgainMs = 60_000

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

/** Those who wait for the same queue, with the same kill switches of their own. */
interface Waiting {
  readonly queue: string
  /** A receive waits for this very queue and not for its successor; who only watches goes by the name. */
  readonly queueId: number | null
  readonly heldNames: readonly string[]
  /** In order of arrival. */
  readonly receives: Set<Parked>
  readonly watchers: Set<() => void>
  cancelTimer: (() => void) | undefined
}

export class Parking {
  readonly #options: ParkingOptions
  /** By the queue's name, then by its id and the names that hold. */
  readonly #waiting = new Map<string, Map<string, Waiting>>()
  /** Queues that may have something for a parked receive. */
  readonly #promising = new Set<string>()

  constructor(options: ParkingOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /**
   * Others wait for the same already. Whatever changes makes them look, so whoever joins them knows
   * what they know.
   */
  hasCompanyFor({ queue, heldNames = [] }: Receive, queueId: number): boolean {
    const waiting = this.#waiting.get(queue)?.get(keyOf({ queueId, heldNames }))
    return waiting?.cancelTimer !== undefined
  }

  /** Waits until a message can be leased, the time is up, or the caller gives up. */
  park(request: Receive, queueId: number, waitMs: number): Promise<readonly Delivery[]> {
    return new Promise((resolve, reject) => {
      const { signal } = request
      const waiting = this.#waitingFor(request, queueId)
      const parked: Parked = {
        request,
        finish: (outcome) => {
          cancelDeadline()
          signal?.removeEventListener('abort', giveUp)
          waiting.receives.delete(parked)
          this.#leave(waiting)
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.deliveries)
        },
      }
      const giveUp = (): void => parked.finish({ error: new MillraceError('aborted') })
      const cancelDeadline = this.#options.ports.timers.after(waitMs, () =>
        parked.finish({ deliveries: [] }),
      )
      signal?.addEventListener('abort', giveUp, { once: true })
      waiting.receives.add(parked)
      // Something may have arrived since the receive looked.
      if (waiting.cancelTimer === undefined) this.#look(waiting)
    })
  }

  /** Waits until a receive may find something, or the caller does not want to know any more. */
  watch(request: WhenReady): Promise<void> {
    const { signal } = request
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const waiting = this.#waitingFor(request, null)
      const finish = (): void => {
        signal.removeEventListener('abort', finish)
        waiting.watchers.delete(finish)
        this.#leave(waiting)
        resolve()
      }
      signal.addEventListener('abort', finish, { once: true })
      waiting.watchers.add(finish)
      this.#look(waiting)
    })
  }

  /** Looks at every queue somebody waits for: another process has changed the store. */
  lookEverywhere(): void {
    for (const name of [...this.#waiting.keys()]) this.#lookAt(name)
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
      // Another setting or switch may concern any queue.
      if (tx.hasChangedTopology) this.lookEverywhere()
      else for (const name of tx.touched) this.#lookAt(name)
    }
  }

  /** Ends all parked receives, empty-handed or with an error, and tells the others to look for themselves. */
  clear(outcome: Parameters<Parked['finish']>[0] = { deliveries: [] }): void {
    for (const byKey of [...this.#waiting.values()]) {
      for (const { receives, watchers } of [...byKey.values()]) {
        for (const parked of [...receives]) parked.finish(outcome)
        for (const finish of [...watchers]) finish()
      }
    }
  }

  #serveQueue(tx: StoreTransaction, name: string, served: (() => void)[]): void {
    for (const { receives, queueId } of this.#waiting.get(name)?.values() ?? []) {
      for (const parked of receives) {
        try {
          if (tx.queue(name).id !== queueId) throw queueNotFound(name)
          const deliveries = receiveNow(tx, parked.request, true)
          if (deliveries.length === 0) break
          served.push(() => parked.finish({ deliveries }))
        } catch (error) {
          if (!(error instanceof MillraceError)) throw error
          served.push(() => parked.finish({ error }))
        }
      }
    }
  }

  #lookAt(name: string): void {
    const byKey = this.#waiting.get(name)
    if (byKey === undefined) return
    for (const waiting of [...byKey.values()]) this.#look(waiting)
  }

  /** Serves the queue soon if it has something, or plans to look again when it will. */
  #look(waiting: Waiting): void {
    waiting.cancelTimer?.()
    waiting.cancelTimer = undefined
    const waitMs = this.#worthwhileIn(waiting)
    // The look may have found that the store is gone, which ends every wait.
    if (waiting.receives.size === 0 && waiting.watchers.size === 0) return
    if (waitMs === 0) {
      for (const finish of [...waiting.watchers]) finish()
      if (waiting.receives.size === 0) return
      this.#promising.add(waiting.queue)
      this.#options.nudge()
    } else {
      const lookAgain = (): void => this.#look(waiting)
      const { timers } = this.#options.ports
      // A parked receive has a deadline that keeps the process alive; a watcher has nothing else.
      const background = waiting.watchers.size === 0
      const delayMs = Math.min(waitMs, lookAgainMs)
      waiting.cancelTimer = timers.after(delayMs, lookAgain, { background })
    }
  }

  /** How long until a receive may find something, as far as is known now; 0 when it may already. */
  #worthwhileIn({ queue: name, queueId, heldNames }: Waiting): number {
    try {
      const session = this.#options.session()
      const now = session.refresh()
      const queue = session.topology.find(name)
      // A receive from a queue that is gone has an answer too.
      if (queue === undefined || (queueId !== null && queueId !== queue.id)) return 0
      return Math.max(0, worthwhileAt({ session, queue, now, heldNames }) - now)
    } catch {
      // Nobody waits for this look, so a store that fails is not reported here but tried again.
      return lookAgainAfterFaultMs
    }
  }

  #waitingFor(
    { queue, heldNames = [] }: Pick<Receive, 'queue' | 'heldNames'>,
    queueId: number | null,
  ): Waiting {
    let byKey = this.#waiting.get(queue)
    if (byKey === undefined) {
      byKey = new Map()
      this.#waiting.set(queue, byKey)
    }
    const key = keyOf({ queueId, heldNames })
    let waiting = byKey.get(key)
    if (waiting === undefined) {
      waiting = {
        queue,
        queueId,
        heldNames,
        receives: new Set(),
        watchers: new Set(),
        cancelTimer: undefined,
      }
      byKey.set(key, waiting)
    }
    return waiting
  }

  #leave(waiting: Waiting): void {
    if (waiting.receives.size > 0 || waiting.watchers.size > 0) return
    waiting.cancelTimer?.()
    const { queue } = waiting
    const byKey = this.#waiting.get(queue)
    byKey?.delete(keyOf(waiting))
    if (byKey?.size === 0) this.#waiting.delete(queue)
  }
}

function keyOf({ queueId, heldNames }: Pick<Waiting, 'queueId' | 'heldNames'>): string {
  const id = queueId === null ? '' : `${queueId}`
  return heldNames.length === 0 ? id : `${id}${JSON.stringify(heldNames)}`
}
