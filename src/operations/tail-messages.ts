/**
 * Follows a queue without receiving: polls it and yields new messages. Messages that came and went between
 * two polls are only counted.
 */
import type { Backend, PeekedMessage } from '../backends/backend.ts'
import type { MessageState } from '../core/message.ts'
import { pause } from '../core/pause.ts'
import type { Timers } from '../core/ports.ts'

export interface TailOptions {
  readonly backend: Pick<Backend, 'peek' | 'queueStatistics' | 'listDeadLetterSources'>
  readonly timers: Timers
  readonly queue: string
  /** Also yields messages that are already in the queue. Default: only new messages. */
  readonly fromStart?: boolean
  /** Called when the tail is ready. Every later message is yielded, or counted as missed. */
  readonly onFollowing?: () => void
  /** Called with the total number of missed messages whenever it rises. */
  readonly onMissed?: (count: number) => void
  readonly signal: AbortSignal
}

/** Short enough for people who watch. */
const pollMs = 250

export async function* tailMessages(options: TailOptions): AsyncGenerator<PeekedMessage> {
  const { backend, timers, queue, signal, fromStart = false, onFollowing, onMissed } = options
  const sources = await backend.listDeadLetterSources({ queue, limit: 1 })
  // Dead letters keep their sequence, so they do not arrive in order.
  const look = new Look({ backend, queue, inOrder: sources.items.length === 0 })
  const sentBefore = await sentTo(backend, queue)
  for await (const message of look.again()) {
    if (fromStart) yield message
    if (signal.aborted) return
  }
  onFollowing?.()
  let seen = 0
  let missed = 0
  while (!signal.aborted) {
    await pause(timers, pollMs, signal)
    if (signal.aborted) return
    const sent = (await sentTo(backend, queue)) - sentBefore
    const arrived: PeekedMessage[] = []
    for await (const message of look.again()) arrived.push(message)
    seen += arrived.length
    yield* arrived.sort((one, other) => one.sequence - other.sequence)
    if (sent - seen > missed) {
      missed = sent - seen
      onMissed?.(missed)
    }
  }
}

async function sentTo(backend: TailOptions['backend'], queue: string): Promise<number> {
  return (await backend.queueStatistics({ queue })).totals.sent
}

interface LookSetup extends Pick<TailOptions, 'backend' | 'queue'> {
  /** Whether later messages have a higher sequence, so that earlier pages need not be read again. */
  readonly inOrder: boolean
}

const pageSize = 500
/** Pages of leased and of delayed messages per poll. They are not in the order of arrival. */
const waitingPagesMax = 10

/**
 * Finds the messages that are new since the last poll. A poll makes three reads, and a message that changes
 * its state in between may be in none of them. So each poll starts where the previous poll began.
 */
class Look {
  readonly #setup: LookSetup
  /** All messages up to this sequence were yielded, or are gone. */
  #floor = 0
  #highest = 0
  #met = new Set<number>()
  #metBefore = new Set<number>()
  #lastPage: string | undefined
  #lastPageBefore: string | undefined

  constructor(setup: LookSetup) {
    this.#setup = setup
  }

  async *again(): AsyncGenerator<PeekedMessage> {
    const known = new Set([...this.#metBefore, ...this.#met])
    const floor = this.#floor
    this.#floor = this.#setup.inOrder ? this.#highest : 0
    this.#metBefore = this.#met
    this.#met = new Set()
    for await (const message of this.#everything()) {
      const { sequence } = message
      if (sequence <= floor) continue
      this.#met.add(sequence)
      this.#highest = Math.max(this.#highest, sequence)
      if (known.has(sequence)) continue
      known.add(sequence)
      yield message
    }
  }

  async *#everything(): AsyncGenerator<PeekedMessage> {
    yield* this.#pages('delayed', { pagesMax: waitingPagesMax })
    yield* this.#pages('leased', { pagesMax: waitingPagesMax })
    const from = this.#lastPageBefore
    this.#lastPageBefore = this.#lastPage
    yield* this.#pages('ready', { from, pagesMax: Number.POSITIVE_INFINITY })
  }

  async *#pages(
    state: MessageState,
    { from, pagesMax }: { readonly from?: string | undefined; readonly pagesMax: number },
  ): AsyncGenerator<PeekedMessage> {
    const { backend, queue, inOrder } = this.#setup
    let after = from
    for (let count = 0; count < pagesMax; count += 1) {
      const page = { limit: pageSize, ...(after !== undefined && { after }) }
      const { items, next } = await backend.peek({ queue, state, ...page })
      yield* items
      if (next === undefined) break
      after = next
    }
    if (state === 'ready' && inOrder) this.#lastPage = after
  }
}
