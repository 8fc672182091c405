/**
 * Receives messages of one queue. A call that a receiver no longer waits for continues, because cutting it off
 * could lease messages that then wait for the end of their visibility timeout. The next receive takes it over.
 * If there is none, its messages are returned to the queue.
 */
import type { Message } from '@aws-sdk/client-sqs'
import { entriesPerCall } from '../../../sqs/batch-call.ts'
import type { CarrierDelivery, CarrierReceive } from '../carrier.ts'
import type { LeaseChanges } from './lease-changes.ts'
import type { QueueScene } from './message-sender.ts'
import { Poll, type PollRequest } from './poll.ts'
import { deliveryOf } from './received-message.ts'

const waitSecondsMax = 20

/** What a response may take longer than the wait that was asked for. */
const slackMs = 1_000

export interface QueueReceiverOptions extends QueueScene {
  /** Calls at the same time for one receive. */
  readonly pollsMax: number
  readonly leases: LeaseChanges
  readonly onNotice: (text: string) => void
}

export class QueueReceiver {
  readonly #options: QueueReceiverOptions
  /** How many calls the next receive makes: one more while all return as much as they can. */
  #width = 1
  readonly #open = new Set<Poll>()
  /** Those of them that no receive waits for. */
  readonly #left = new Set<Poll>()
  readonly #returning = new Set<Promise<void>>()
  #isClosed = false

  constructor(options: QueueReceiverOptions) {
    this.#options = options
  }

  async receive(request: CarrierReceive): Promise<readonly CarrierDelivery[]> {
    let restSeconds = Math.floor(request.waitMs / 1_000)
    for (let round = 1; ; round += 1) {
      if (this.#isClosed || request.signal?.aborted) return []
      const isFirst = round === 1
      // Many calls are worth it only while there is a backlog, which none of them has to wait for.
      const isWide = isFirst && this.#width > 1 && request.max > entriesPerCall
      const waitSeconds = isWide ? 0 : Math.min(restSeconds, waitSecondsMax)
      const polls = this.#pollsFor(request, { waitSeconds, isWide, isFirst })
      const messages = await this.#take(polls, { request, waitSeconds })
      if (messages.length > 0) {
        const { urls } = this.#options
        return messages.map((message) => deliveryOf(message, (name) => urls.queueOf(name)))
      }
      restSeconds -= waitSeconds
      if (restSeconds <= 0) return []
    }
  }

  /** Cuts off what is under way, and waits until what came too late is back in the queue. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const poll of this.#open) poll.cut()
    await Promise.all([...this.#open].map(({ ended }) => ended))
    await Promise.all(this.#returning)
  }

  #pollsFor(
    { max, visibilityMs, attemptId }: CarrierReceive,
    { waitSeconds, isWide, isFirst }: Round,
  ): readonly Poll[] {
    const visibilitySeconds = Math.ceil(visibilityMs / 1_000)
    const polls: Poll[] = []
    let room = max
    const adoptable = attemptId === undefined ? [...this.#left] : []
    for (const poll of adoptable) {
      const { request } = poll
      if (request.visibilitySeconds !== visibilitySeconds || request.max > room) continue
      this.#left.delete(poll)
      polls.push(poll)
      room -= request.max
    }
    // A long poll that was taken over waits as well as a new one.
    if (waitSeconds > 0 && polls.length > 0) return polls
    const count = isWide && attemptId === undefined ? this.#width : 1
    for (let made = 0; made < count && room > 0; made += 1) {
      const size = Math.min(room, entriesPerCall)
      polls.push(
        this.#start({
          max: size,
          visibilitySeconds,
          waitSeconds,
          // Another call with the same id would return what the first one did.
          attemptId: isFirst ? attemptId : undefined,
        }),
      )
      room -= size
    }
    return polls
  }

  #start(request: PollRequest): Poll {
    const poll = new Poll(this.#options, request)
    this.#open.add(poll)
    void poll.ended.then(() => {
      this.#open.delete(poll)
      if (this.#left.delete(poll)) this.#return(poll)
    })
    return poll
  }

  /** The messages of these calls. Those that are not waited for any longer are left to the next receive. */
  async #take(
    polls: readonly Poll[],
    { request: { max, signal }, waitSeconds }: Taking,
  ): Promise<readonly Message[]> {
    const isShort = waitSeconds === 0
    const ends = polls.filter(({ request }) => isShort && request.waitSeconds === 0)
    await (isShort
      ? this.#until(Promise.all(ends.map(({ ended }) => ended)), { signal })
      : this.#until(firstWith(polls), { signal, ms: waitSeconds * 1_000 + slackMs }))
    for (const poll of polls) if (!poll.hasEnded) this.#left.add(poll)
    const done = polls.filter(({ hasEnded }) => hasEnded)
    if (signal?.aborted || this.#isClosed) {
      for (const poll of done) this.#return(poll)
      return []
    }
    const messages = done.flatMap((poll) => poll.messages)
    const failed = done.find(({ error }) => error !== undefined)
    if (messages.length === 0 && failed !== undefined) throw failed.error
    this.#adapt(done, max)
    return messages
  }

  #adapt(done: readonly Poll[], max: number): void {
    if (done.length === 0) return
    const isFull = done.every(({ messages, request }) => messages.length >= request.max)
    if (isFull && max > entriesPerCall) {
      this.#width = Math.min(this.#width + 1, this.#options.pollsMax)
    }
    if (done.every(({ messages }) => messages.length === 0)) this.#width = 1
  }

  /** Waits, but not beyond the time or an abort. */
  #until(what: Promise<unknown>, { ms, signal }: Limits): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel?.()
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const cancel = ms === undefined ? undefined : this.#options.timers.after(ms, end)
      signal?.addEventListener('abort', end, { once: true })
      void what.then(end)
    })
  }

  #return({ messages }: Poll): void {
    if (messages.length === 0) return
    const { queue, leases, onNotice } = this.#options
    const returning = leases
      .change(messages.map(({ ReceiptHandle: handle = '' }) => ({ handle, visibilityMs: 0 })))
      .then(
        () => undefined,
        () => {
          const wait = 'They are received again after their visibility timeout.'
          onNotice(`Messages of queue '${queue}' could not be returned to SQS. ${wait}`)
        },
      )
      .then(() => {
        this.#returning.delete(returning)
      })
    this.#returning.add(returning)
  }
}

interface Round {
  readonly waitSeconds: number
  readonly isWide: boolean
  readonly isFirst: boolean
}

interface Taking {
  readonly request: CarrierReceive
  readonly waitSeconds: number
}

interface Limits {
  readonly ms?: number
  readonly signal: AbortSignal | undefined
}

/** Resolves when one of the calls has messages, or all have ended. */
function firstWith(polls: readonly Poll[]): Promise<unknown> {
  const withMessages = polls.map(async (poll) => {
    await poll.ended
    if (poll.messages.length === 0) throw new Error('empty')
  })
  return Promise.any(withMessages).catch(() => undefined)
}
