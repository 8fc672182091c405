/**
 * Follows a queue without taking anything out of it: looks again and again, and yields what has come.
 * A message that came and went between two looks is counted, not seen.
 */
import type { Backend, PeekedMessage } from '../backends/backend.ts'
import type { MessageState } from '../core/message.ts'
import { pause } from '../core/pause.ts'
import type { Timers } from '../core/ports.ts'

export interface TailOptions {
  readonly backend: Pick<Backend, 'peek' | 'queueStatistics' | 'listDeadLetterSources'>
  readonly timers: Timers
  readonly queue: string
  /** Also those that are there already. Default: only what comes from now on. */
  readonly fromStart?: boolean
  /** Called once the tail stands: every later message is met, or counted as missed. */
  readonly onFollowing?: () => void
  /** Told how many messages were sent in all that no look has met, whenever it is more. */
  readonly onMissed?: (count: number) => void
  readonly signal: AbortSignal
}

/** Often enough for people. */
const lookAgainMs = 250

export async function* tailMessages(options: TailOptions): AsyncGenerator<PeekedMessage> {
  const { backend, timers, queue, signal, fromStart = false, onFollowing, onMissed } = options
  const sources = await backend.listDeadLetterSources({ queue, limit: 1 })
  // Dead letters keep the place that they had, so they do not arrive behind the others.
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
    await pause(timers, lookAgainMs, signal)
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
  /** Whether what comes later has a higher sequence, so that the front need not be read again. */
  readonly inOrder: boolean
}

const pageSize = 500
/** Pages of leased and of delayed messages in one look: they do not stand in the order of arrival. */
const waitingPagesMax = 10

/**
 * What is new since the last look. Three readings are not one moment: a message that changes its
 * state meanwhile may be met in none of them. So each look reaches back to where the one before began.
 */
class Look {
  readonly #setup: LookSetup
  /** Up to here everything was met, or is gone. */
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
