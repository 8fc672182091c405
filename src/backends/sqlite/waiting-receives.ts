/**
 * Long polls that found nothing, and callers that only wait until a receive may find something. Waiting
 * receives are served in the order of their arrival, inside the transaction that makes a
 * message ready, so a send and the receive that waits for it share one commit.
 */
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import { receiveNow } from '../../engine/messages/claiming.ts'
import { worthwhileAt } from '../../engine/messages/ready-checks.ts'
import { queueNotFound } from '../../engine/queues/queue.ts'
import { runAtOnce } from '../../engine/steps.ts'
import type { Delivery, Receive, WhenReady } from '../backend.ts'
import type { Session } from './driver/session.ts'
import { type StoreTransaction, viewOf } from './driver/transaction.ts'

/** Pause before a store that could not be read is read again. */
const lookAgainAfterFaultMs = 100

/** A shared store with waiting receives is read this often, however far away the next event is. */
const lookAgainMs = 60_000
const lookAgainAloneMs = 86_400_000

export interface WaitingReceivesOptions {
  readonly ports: Ports
  /** Whether other processes may change the store. */
  readonly isShared: boolean
  readonly session: () => Session
  /** Asks for a transaction, in which waiting receives are served. */
  readonly nudge: () => void
}

interface WaitingReceive {
  readonly request: Receive
  readonly finish: (outcome: { deliveries: readonly Delivery[] } | { error: unknown }) => void
}

/** Receives and watchers of the same queue, with the same kill switches of their own. */
interface Waiting {
  readonly queue: string
  /** A receive waits for this queue, not for a later one of the same name; watchers wait for the name. */
  readonly queueId: number | null
  readonly heldNames: readonly string[]
  /** In order of arrival. */
  readonly receives: Set<WaitingReceive>
  readonly watchers: Set<() => void>
  cancelTimer: (() => void) | undefined
}

export class WaitingReceives {
  readonly #options: WaitingReceivesOptions
  /** By the queue's name, then by its id and the names that hold. */
  readonly #waiting = new Map<string, Map<string, Waiting>>()
  /** Queues that may have something for a waiting receive. */
  readonly #promising = new Set<string>()
  #cancelRetry: (() => void) | undefined

  constructor(options: WaitingReceivesOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** Whether another receive waits for the same: a change makes it look, so no look is needed now. */
  hasWaiterFor({ queue, heldNames = [] }: Receive, queueId: number): boolean {
    const waiting = this.#waiting.get(queue)?.get(keyOf({ queueId, heldNames }))
    return waiting?.cancelTimer !== undefined
  }

  /** Waits until a message can be leased, the time is up, or the caller aborts. */
  wait(request: Receive, queueId: number, waitMs: number): Promise<readonly Delivery[]> {
    return new Promise((resolve, reject) => {
      const { signal } = request
      const waiting = this.#waitingFor(request, queueId)
      const receive: WaitingReceive = {
        request,
        finish: (outcome) => {
          cancelDeadline()
          signal?.removeEventListener('abort', giveUp)
          waiting.receives.delete(receive)
          this.#leave(waiting)
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.deliveries)
        },
      }
      const giveUp = (): void => receive.finish({ error: new MillraceError('aborted') })
      const cancelDeadline = this.#options.ports.timers.after(waitMs, () =>
        receive.finish({ deliveries: [] }),
      )
      signal?.addEventListener('abort', giveUp, { once: true })
      waiting.receives.add(receive)
      // Something may have arrived since the receive looked.
      if (waiting.cancelTimer === undefined) this.#look(waiting)
    })
  }

  /** Waits until a receive may find something, or the signal aborts. */
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

  /** Looks at every queue that has waiting receives: another process has changed the store. */
  recheckAll(): void {
    for (const name of [...this.#waiting.keys()]) this.#lookAt(name)
  }

  /** Looks again in a moment: the transaction failed in which they were to be served. */
  retrySoon(): void {
    if (this.isEmpty || this.#cancelRetry !== undefined) return
    const retry = (): void => {
      this.#cancelRetry = undefined
      this.recheckAll()
    }
    const { timers } = this.#options.ports
    this.#cancelRetry = timers.after(lookAgainAfterFaultMs, retry, { background: true })
  }

  /** Serves waiting receives inside a transaction; call the returned function after the commit. */
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
      if (tx.hasChangedQueues) this.recheckAll()
      else for (const name of tx.touched) this.#lookAt(name)
    }
  }

  /** Ends all waiting receives, empty or with an error, and wakes all watchers. */
  clear(outcome: Parameters<WaitingReceive['finish']>[0] = { deliveries: [] }): void {
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    for (const byKey of [...this.#waiting.values()]) {
      for (const { receives, watchers } of [...byKey.values()]) {
        for (const receive of [...receives]) receive.finish(outcome)
        for (const finish of [...watchers]) finish()
      }
    }
  }

  #serveQueue(tx: StoreTransaction, name: string, served: (() => void)[]): void {
    for (const { receives, queueId } of this.#waiting.get(name)?.values() ?? []) {
      for (const receive of receives) {
        try {
          if (tx.session.queues.require(name).id !== queueId) throw queueNotFound(name)
          const deliveries = runAtOnce(receiveNow(tx, receive.request, true))
          if (deliveries.length === 0) break
          served.push(() => receive.finish({ deliveries }))
        } catch (error) {
          if (!(error instanceof MillraceError)) throw error
          served.push(() => receive.finish({ error }))
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
      const { ports, isShared } = this.#options
      // A waiting receive has a deadline that keeps the process alive; a watcher has nothing else.
      const background = waiting.watchers.size === 0
      const delayMs = Math.min(waitMs, isShared ? lookAgainMs : lookAgainAloneMs)
      waiting.cancelTimer = ports.timers.after(delayMs, lookAgain, { background })
    }
  }

  /** How long until a receive may find something, as far as is known now; 0 when it may already. */
  #worthwhileIn({ queue: name, queueId, heldNames }: Waiting): number {
    try {
      const session = this.#options.session()
      const view = viewOf(session)
      const { now } = view
      const queue = session.queues.find(name)
      // A receive from a queue that was deleted must end too.
      if (queue === undefined || (queueId !== null && queueId !== queue.id)) return 0
      return Math.max(0, runAtOnce(worthwhileAt({ view, queue, heldNames })) - now)
    } catch {
      // No call is waiting for this result, so a store that fails is tried again and not reported.
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
