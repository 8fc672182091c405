/**
 * Receives that wait for a job of one queue. BullMQ announces jobs by a marker: the process that removes it looks
 * for a job, and BullMQ's scripts add it again while there are more. One connection waits for the marker on behalf
 * of all receives of this process.
 */
import type { Timers } from '../../../core/ports.ts'
import { isReply } from './redis-error.ts'

export type PoppedMarker = readonly [key: string, member: string, score: string]

/** A connection that waits. */
export interface MarkerConnection {
  pop(key: string, seconds: number): Promise<PoppedMarker | null>
  /** Ends it if it does not reply. */
  reset(): void
}

export interface MarkerWaitsOptions {
  /** The key of the marker. */
  readonly marker: string
  readonly connect: () => MarkerConnection
  /** Adds a marker again that was removed and not used. */
  readonly putBack: (member: string, score: number) => void
  readonly timers: Timers
  readonly now: () => number
}

export interface MarkerWait {
  readonly ms: number
  readonly signal?: AbortSignal | undefined
}

interface Waiter {
  readonly look: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Receives look again after this time, also without a marker: a process may have ended after it removed the
 * marker. BullMQ's own workers use the same time.
 */
const recheckSeconds = 5

/** The marker for jobs that are due now, and for those that are due at its score. */
const readyMember = '0'
const delayedMember = '1'

export class MarkerWaits {
  readonly #options: MarkerWaitsOptions
  readonly #waiters = new Set<Waiter>()
  #connection: MarkerConnection | undefined
  #isListening = false
  #isClosed = false
  #dueAt = Number.POSITIVE_INFINITY
  #cancelDue: (() => void) | undefined

  constructor(options: MarkerWaitsOptions) {
    this.#options = options
  }

  /** Resolves when it is worth to look for a job, when the time is over, or when the signal aborts. */
  async wait({ ms, signal }: MarkerWait): Promise<void> {
    if (this.#isClosed || signal?.aborted) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { look: resolve, reject }
    this.#waiters.add(waiter)
    signal?.addEventListener('abort', waiter.look, { once: true })
    const cancel = this.#options.timers.after(ms, waiter.look)
    void this.#listen()
    try {
      await promise
    } finally {
      cancel()
      signal?.removeEventListener('abort', waiter.look)
      this.#waiters.delete(waiter)
    }
  }

  /** The first delayed job is due at this time. */
  noteDue(at: number): void {
    // Replies can arrive out of order. Looking too early does no harm.
    if (this.#isClosed || at >= this.#dueAt) return
    const { timers, now, putBack } = this.#options
    this.#dueAt = at
    this.#cancelDue?.()
    this.#cancelDue = timers.after(
      Math.max(0, at - now()),
      () => {
        this.#dueAt = Number.POSITIVE_INFINITY
        if (!this.#wakeFirst()) putBack(delayedMember, at)
      },
      { background: true },
    )
  }

  /** There is something for a receive that waits, if one does. */
  wake(): void {
    this.#wakeFirst()
  }

  /** A receive that was woken does not look: another one does. */
  passOn(): void {
    if (!this.#wakeFirst()) this.#options.putBack(readyMember, 0)
  }

  close(): void {
    this.#isClosed = true
    this.#cancelDue?.()
    this.#wakeAll()
  }

  /** Whether there is one. */
  #wakeFirst(): boolean {
    const [first] = this.#waiters
    if (first === undefined) return false
    // Not only when it continues: the next marker is for another one.
    this.#waiters.delete(first)
    first.look()
    return true
  }

  #wakeAll(): void {
    while (this.#wakeFirst());
  }

  async #listen(): Promise<void> {
    if (this.#isListening) return
    this.#isListening = true
    try {
      while (this.#waiters.size > 0 && !this.#isClosed) {
        const popped = await this.#pop()
        if (popped === null) this.#wakeFirst()
        else this.#popped(popped[1], Number(popped[2]))
      }
    } catch (error) {
      // A refusal would be repeated at once. After a lost connection, each receive looks, and gets its reason.
      if (isReply(error)) this.#rejectAll(error)
      else this.#wakeAll()
    } finally {
      this.#isListening = false
    }
  }

  async #pop(): Promise<PoppedMarker | null> {
    const { connect, marker, timers } = this.#options
    this.#connection ??= connect()
    const connection = this.#connection
    const cancel = timers.after(2_000 * recheckSeconds, () => connection.reset())
    try {
      return await connection.pop(marker, recheckSeconds)
    } finally {
      cancel()
    }
  }

  #popped(member: string, score: number): void {
    if (member === delayedMember && score > this.#options.now()) this.noteDue(score)
    else if (!this.#wakeFirst()) this.#options.putBack(member, score)
  }

  #rejectAll(error: unknown): void {
    for (const { reject } of this.#waiters) reject(error)
    this.#waiters.clear()
  }
}
