/**
 * Long polls that found nothing, and callers that only wait until a receive may find something. Receives of
 * one queue are served in the order of their arrival, one look at a time. A look follows a commit of this
 * process, a notification of another one, or the time at which something falls due; and a poll comes
 * behind all of them.
 */
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import type { Delivery, Receive, WhenReady } from '../backend.ts'
import type { QueueChanges } from './driver/notifications.ts'

/** A queue with waiting receives is looked at this often, whatever was heard of it. */
const pollMs = 1_000

/** Pause before a store that could not be read is read again. */
const retryMs = 100

export interface WaitingReceivesOptions {
  readonly ports: Ports
  /** Leases messages for a receive, now. */
  readonly claim: (request: Receive, queueId: number) => Promise<readonly Delivery[]>
  /** Counts a look as under way until it has ended. */
  readonly track: (look: Promise<void>) => Promise<void>
  /** How long until a receive may find something; 0 when it may already. */
  readonly worthwhileIn: (waiting: Waiting) => Promise<number>
}

/** Receives and watchers of the same queue, with the same kill switches of their own. */
export interface Waiting {
  readonly queue: string
  /** A receive waits for this queue, not for a later one of the same name; watchers wait for the name. */
  readonly queueId: number | null
  readonly heldNames: readonly string[]
}

interface Waiters extends Waiting {
  /** In order of arrival. */
  readonly receives: Set<WaitingReceive>
  readonly watchers: Set<() => void>
  cancelTimer: (() => void) | undefined
  isLooking: boolean
  /** Something happened while a look was under way. */
  looksAgain: boolean
}

interface WaitingReceive {
  readonly request: Receive
  readonly finish: (outcome: Outcome) => void
  /** Finishes after a claim that is under way, unless that has found something. */
  readonly end: (outcome: Outcome) => void
  isOver: boolean
  isClaiming: boolean
  /** How it ends if the claim that is under way finds nothing. */
  pendingEnd: Outcome | undefined
}

type Outcome = { readonly deliveries: readonly Delivery[] } | { readonly error: unknown }

export class WaitingReceives {
  readonly #options: WaitingReceivesOptions
  readonly #waiting = new Map<string, Waiters>()

  constructor(options: WaitingReceivesOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** Waits until a message can be leased, the time is up, or the caller aborts. */
  wait(request: Receive, queueId: number, waitMs: number): Promise<readonly Delivery[]> {
    return new Promise((resolve, reject) => {
      const { signal } = request
      const waiting = this.#waitersFor(request, queueId)
      const receive: WaitingReceive = {
        request,
        isOver: false,
        isClaiming: false,
        pendingEnd: undefined,
        end: (outcome) => {
          if (receive.isClaiming) receive.pendingEnd ??= outcome
          else receive.finish(outcome)
        },
        finish: (outcome) => {
          if (receive.isOver) return
          receive.isOver = true
          cancelDeadline()
          signal?.removeEventListener('abort', abort)
          waiting.receives.delete(receive)
          this.#leave(waiting)
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.deliveries)
        },
      }
      const abort = (): void => receive.end({ error: new MillraceError('aborted') })
      const cancelDeadline = this.#options.ports.timers.after(waitMs, () =>
        receive.end({ deliveries: [] }),
      )
      signal?.addEventListener('abort', abort, { once: true })
      waiting.receives.add(receive)
      this.#look(waiting)
    })
  }

  /** Waits until a receive may find something, or the signal aborts. */
  watch(request: WhenReady): Promise<void> {
    const { signal } = request
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const waiting = this.#waitersFor(request, null)
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

  /** Wakes those who watch a queue with a new message, and looks at the others, or at all queues. */
  recheck(changes?: QueueChanges): void {
    for (const waiting of [...this.#waiting.values()]) {
      if (changes?.gained.has(waiting.queue)) for (const finish of [...waiting.watchers]) finish()
      if (changes === undefined || changes.queues.has(waiting.queue)) this.#look(waiting)
    }
  }

  /** Ends all waiting receives without messages, and wakes all watchers. */
  clear(): void {
    for (const { receives, watchers } of [...this.#waiting.values()]) {
      for (const receive of [...receives]) receive.end({ deliveries: [] })
      for (const finish of [...watchers]) finish()
    }
  }

  #look(waiting: Waiters): void {
    waiting.looksAgain = true
    if (waiting.isLooking || !isAwaited(waiting)) return
    waiting.isLooking = true
    void this.#options.track(this.#lookUntilQuiet(waiting))
  }

  async #lookUntilQuiet(waiting: Waiters): Promise<void> {
    while (waiting.looksAgain && isAwaited(waiting)) {
      waiting.looksAgain = false
      waiting.cancelTimer?.()
      waiting.cancelTimer = undefined
      const waitMs = await this.#serve(waiting)
      if (!isAwaited(waiting) || waiting.looksAgain) continue
      // A waiting receive has a deadline that keeps the process alive; a watcher has nothing else.
      const background = waiting.watchers.size === 0
      const again = (): void => this.#look(waiting)
      const { timers } = this.#options.ports
      waiting.cancelTimer = timers.after(Math.min(waitMs, pollMs), again, { background })
    }
    // Right after the condition: a look that is asked for later starts a new round.
    waiting.isLooking = false
  }

  /** Serves those that wait as far as there is something; returns how long to wait for more. */
  async #serve(waiting: Waiters): Promise<number> {
    try {
      for (const receive of waiting.receives) {
        const found = await this.#claimFor(receive, waiting)
        if (!found) break
      }
      if (!isAwaited(waiting)) return pollMs
      const waitMs = await this.#options.worthwhileIn(waiting)
      if (waitMs === 0) for (const finish of [...waiting.watchers]) finish()
      return waitMs === 0 ? retryMs : waitMs
    } catch {
      // No call is waiting for this result, so a store that fails is tried again and not reported.
      return retryMs
    }
  }

  /** False when there was nothing for it. */
  async #claimFor(receive: WaitingReceive, { queueId }: Waiters): Promise<boolean> {
    if (receive.isOver) return true
    receive.isClaiming = true
    try {
      const deliveries = await this.#options.claim(receive.request, queueId ?? 0)
      if (deliveries.length > 0) receive.finish({ deliveries })
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code === 'store_unreachable') throw error
      receive.finish({ error })
    } finally {
      receive.isClaiming = false
      if (receive.pendingEnd !== undefined) receive.finish(receive.pendingEnd)
    }
    return receive.isOver
  }

  #waitersFor(
    { queue, heldNames = [] }: Pick<Receive, 'queue' | 'heldNames'>,
    queueId: number | null,
  ): Waiters {
    const key = keyOf({ queue, queueId, heldNames })
    const known = this.#waiting.get(key)
    if (known !== undefined) return known
    const waiting: Waiters = {
      queue,
      queueId,
      heldNames,
      receives: new Set(),
      watchers: new Set(),
      cancelTimer: undefined,
      isLooking: false,
      looksAgain: false,
    }
    this.#waiting.set(key, waiting)
    return waiting
  }

  #leave(waiting: Waiters): void {
    if (isAwaited(waiting)) return
    waiting.cancelTimer?.()
    waiting.cancelTimer = undefined
    const key = keyOf(waiting)
    if (this.#waiting.get(key) === waiting) this.#waiting.delete(key)
  }
}

function isAwaited({ receives, watchers }: Waiters): boolean {
  return receives.size > 0 || watchers.size > 0
}

function keyOf({ queue, queueId, heldNames }: Waiting): string {
  return JSON.stringify([queue, queueId, heldNames])
}
