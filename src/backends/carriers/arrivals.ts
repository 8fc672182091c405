/**
 * Receives from a carrier. What needs no decision of the store becomes a delivery at once; about everything
 * else the store decides: jobs, messages that it has sent, queues with limits, repeated deliveries.
 */
import { limits } from '../../core/limits.ts'
import { isRefused, isStoreGone, MillraceError } from '../../core/millrace-error.ts'
import { pause } from '../../core/pause.ts'
import type { Ports } from '../../core/ports.ts'
import type { Backend, Delivery, Receive, WhenReady } from '../backend.ts'
import type { ArrivingMessage, CarriedStore } from '../carried-store.ts'
import type { CarriedQueue, CarriedQueues } from './carried-queues.ts'
import { formatReceipt } from './carried-receipt.ts'
import type { CarrierDelivery } from './carrier.ts'
import type { HeldDeliveries } from './held-deliveries.ts'
import { messageOf } from './settlements.ts'
import type { Tally } from './tally.ts'

/** A queue that is held, or at its ceiling, is looked at this often. */
const closedPollMs = 250
/** One wait at a carrier. */
const waitMsMax = 20_000
/** How often a receive looks again, if nothing of what has arrived may run. */
const looksMax = 100
/** How many messages a watch takes that a receive fetches afterwards. */
const landedMax = 10

export interface ArrivalsOptions {
  readonly store: Backend
  readonly carried: CarriedStore
  readonly queues: CarriedQueues
  readonly held: HeldDeliveries
  readonly tally: Tally
  readonly ports: Ports
  /** Sends what this process has put into the outbox of the queue. */
  readonly flush: (queue: CarriedQueue) => Promise<void>
  readonly noteChange: () => void
  readonly onFailure: (queue: string, error: unknown) => void
}

export class Arrivals {
  readonly #options: ArrivalsOptions
  /** Messages that a watch has received, for the next receive. */
  readonly #landed = new Map<string, Landed[]>()
  readonly #waiting = new Set<() => void>()
  readonly #closing = new AbortController()

  constructor(options: ArrivalsOptions) {
    this.#options = options
  }

  async receive(request: Receive, queue: CarriedQueue): Promise<readonly Delivery[]> {
    if (this.#closing.signal.aborted) throw new MillraceError('store_closed')
    try {
      return await this.#receive(request, queue)
    } catch (error) {
      // Closing ends a receive without messages.
      if (this.#closing.signal.aborted) return []
      throw error
    }
  }

  async #receive(request: Receive, queue: CarriedQueue): Promise<readonly Delivery[]> {
    const { clock } = this.#options.ports
    const { settings } = queue.record
    const { heldNames = [], waitMs = settings.receiveWaitMs, signal, onLeased } = request
    const visibilityMs = request.visibilityMs ?? settings.visibilityMs
    const until = clock.monotonic() + waitMs
    for (let looks = 1; ; looks += 1) {
      if (this.#closing.signal.aborted) return []
      if (signal?.aborted) throw new MillraceError('aborted')
      await this.#options.flush(queue)
      const leftMs = Math.max(0, until - clock.monotonic())
      const { room, isKept } = await this.#options.queues.admission(queue, heldNames)
      const kept = isKept ? await this.#options.store.receive({ ...request, waitMs: 0 }) : []
      if (kept.length > 0) return kept
      const found =
        room > 0
          ? await this.#find(request, queue, {
              max: Math.min(request.max, room),
              visibilityMs,
              leftMs,
            })
          : []
      const deliveries =
        found.length > 0 ? await this.#admit(queue, found, { visibilityMs, heldNames, room }) : []
      if (deliveries.length > 0) {
        onLeased?.(deliveries)
        return deliveries
      }
      // What arrived had ended, or waits in the store: there may be more behind it.
      if (found.length > 0 && looks < looksMax) continue
      if (clock.monotonic() >= until) break
      if (room <= 0) await this.#closed(Math.min(leftMs, closedPollMs), signal)
    }
    this.#options.tally.add(queue.name, 'emptyReceives', 1)
    return []
  }

  /** Takes messages from the carrier, for the receive that follows. Ends with the queue, and with the store. */
  async watch(request: WhenReady): Promise<void> {
    const { signal } = request
    try {
      while (!signal.aborted && !this.#closing.signal.aborted && !(await this.#look(request)));
    } catch (error) {
      const isOver = signal.aborted || this.#closing.signal.aborted
      if (!isOver && !isStoreGone(error) && !isRefused(error, 'queue_not_found')) throw error
    }
  }

  /** Something has changed in this process: a queue that was closed may be open. */
  wake(): void {
    for (const wake of this.#waiting) wake()
  }

  async #closed(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const waking = new AbortController()
    const wake = (): void => waking.abort()
    this.#waiting.add(wake)
    signal?.addEventListener('abort', wake, { once: true })
    await pause(this.#options.ports.timers, ms, waking.signal)
    this.#waiting.delete(wake)
    signal?.removeEventListener('abort', wake)
  }

  async #look({ queue: name, signal, heldNames = [] }: WhenReady): Promise<boolean> {
    const queue = await this.#options.queues.find(name)
    if (queue === undefined) return true
    await this.#options.flush(queue)
    const { room, isKept } = await this.#options.queues.admission(queue, heldNames)
    if (isKept) await this.#options.store.whenReady({ queue: name, signal, heldNames })
    if (isKept) return true
    if (room <= 0) {
      await this.#closed(closedPollMs, signal)
      return false
    }
    const { visibilityMs } = queue.record.settings
    const max = Math.min(landedMax, room)
    const either = AbortSignal.any([signal, this.#closing.signal])
    const waiting = { queue: name, max, visibilityMs, waitMs: waitMsMax, signal: either }
    const found = await queue.carrier.receive(waiting)
    if (found.length > 0) this.#land(queue, found, visibilityMs)
    return found.length > 0
  }

  async #find(
    { max: _, attemptId, signal }: Receive,
    queue: CarriedQueue,
    { max, visibilityMs, leftMs }: { max: number; visibilityMs: number; leftMs: number },
  ): Promise<readonly CarrierDelivery[]> {
    const landed = this.#landed.get(queue.name)?.splice(0, max) ?? []
    if (landed.length > 0) {
      for (const { cancel } of landed) cancel()
      const { visibilityMs: given } = queue.record.settings
      const deliveries = landed.map(({ delivery }) => delivery)
      if (given === visibilityMs) return deliveries
      const leases = deliveries.map(({ handle }) => ({ handle, visibilityMs }))
      const extended = await queue.carrier.extend({ queue: queue.name, leases })
      return deliveries.filter((_, index) => extended[index])
    }
    return await queue.carrier.receive({
      queue: queue.name,
      max: Math.min(max, limits.messagesPerCall.max),
      visibilityMs,
      waitMs: Math.min(leftMs, waitMsMax),
      ...(attemptId !== undefined && { attemptId }),
      signal: signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal,
    })
  }

  /** Keeps messages for the next receive. If none comes soon, they return to the carrier. */
  #land(queue: CarriedQueue, found: readonly CarrierDelivery[], visibilityMs: number): void {
    const list = this.#landed.get(queue.name) ?? []
    this.#landed.set(queue.name, list)
    for (const delivery of found) {
      const cancel = this.#options.ports.timers.after(Math.min(2_000, visibilityMs / 2), () => {
        const index = list.indexOf(landed)
        if (index >= 0) list.splice(index, 1)
        this.#release(queue, [delivery], 0)
      })
      const landed = { delivery, cancel }
      list.push(landed)
    }
  }

  /** Returns to their carriers what no receive has fetched. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.wake()
    const work: Promise<unknown>[] = []
    for (const [name, list] of this.#landed) {
      const queue = await this.#options.queues.find(name)
      for (const { delivery, cancel } of list.splice(0)) {
        cancel()
        const messages = [{ handle: delivery.handle, delayMs: 0 }]
        if (queue) work.push(queue.carrier.release({ queue: name, messages }).catch(() => []))
      }
    }
    await Promise.all(work)
  }

  async #admit(
    queue: CarriedQueue,
    found: readonly CarrierDelivery[],
    { visibilityMs, heldNames, room }: Admission,
  ): Promise<readonly Delivery[]> {
    const { carried } = this.#options
    const isFree = room === Number.POSITIVE_INFINITY && heldNames.length === 0
    if (isFree && found.every((delivery) => isKnownToRun(queue, delivery))) {
      return found.map((delivery) => this.#untracked(queue, delivery, visibilityMs))
    }
    const messages = found.map((delivery) => arriving(queue, delivery))
    const arrived = await carried.arrive({ queue: queue.name, messages, visibilityMs, heldNames })
    const deliveries: Delivery[] = []
    const finished: CarrierDelivery[] = []
    const returned: CarrierDelivery[] = []
    for (const [index, delivery] of found.entries()) {
      const decision = arrived[index]
      const message = messages[index]
      if (decision === undefined || message === undefined) continue
      if (decision.status === 'leased')
        deliveries.push(leasedByBoth(queue.name, delivery, decision.delivery))
      else if (decision.status === 'untracked' && hasUsedUp(queue, delivery)) {
        const isDead = await this.#deadLetter(queue, delivery, message, '')
        // Without a place for dead letters it stays where it is.
        if (!isDead) deliveries.push(this.#untracked(queue, delivery, visibilityMs))
      } else if (decision.status === 'untracked') {
        deliveries.push(this.#untracked(queue, delivery, visibilityMs))
      } else if (decision.status === 'done') finished.push(delivery)
      else if (decision.status === 'held') returned.push(delivery)
      else {
        this.#options.onFailure(queue.name, decision.error)
        await this.#deadLetter(queue, delivery, message, decision.error.message)
      }
    }
    if (finished.length > 0) {
      const ends = finished.map(({ handle }) => ({ handle }))
      const removal = queue.carrier.remove({ queue: queue.name, messages: ends })
      removal.catch((error: unknown) => this.#options.onFailure(queue.name, error))
    }
    if (returned.length > 0) this.#release(queue, returned, closedPollMs)
    return deliveries
  }

  /** Dead-letters what the queue cannot take, or what was received too often. */
  async #deadLetter(
    queue: CarriedQueue,
    { handle }: CarrierDelivery,
    { carrierId, message, sentAt }: ArrivingMessage,
    reason: string,
  ): Promise<boolean> {
    const outcome = { kind: 'deadLetter', reason } as const
    const settlements = [{ carrierId, settlement: { receipt: '', outcome }, message, sentAt }]
    const [result] = await this.#options.carried.settle({ queue: queue.name, settlements })
    if (result?.status === 'refused') return false
    await queue.carrier.remove({ queue: queue.name, messages: [{ handle, error: reason }] })
    this.#options.noteChange()
    return true
  }

  #untracked(queue: CarriedQueue, found: CarrierDelivery, visibilityMs: number): Delivery {
    const { held, tally } = this.#options
    const { handle, receiveCount, labels, body, attributes, systemAttributes } = found
    const carrierId = labels?.id ?? found.id
    const { group, deduplicationId, firstReceivedAt } = found
    const sentAt = labels?.sentAt ?? found.sentAt
    const delivery: Delivery = {
      id: carrierId,
      sequence: found.sequence ?? unnumbered,
      ...held.lease(visibilityMs),
      receipt: formatReceipt({ queue: queue.name, handle, carrierId, receiveCount, stored: null }),
      body,
      attributes,
      systemAttributes,
      group,
      deduplicationId,
      sentAt,
      firstReceivedAt,
      receiveCount,
      deadLetterOrigin: labels?.deadLetterOrigin ?? null,
      job: null,
      unit: null,
    }
    held.add(queue.name, delivery)
    tally.add(queue.name, 'received', 1)
    return delivery
  }

  #release(queue: CarriedQueue, found: readonly CarrierDelivery[], delayMs: number): void {
    const messages = found.map(({ handle }) => ({ handle, delayMs }))
    const returned = queue.carrier.release({ queue: queue.name, messages })
    returned.catch((error: unknown) => this.#options.onFailure(queue.name, error))
  }
}

function leasedByBoth(queue: string, found: CarrierDelivery, delivery: Delivery): Delivery {
  const { handle, receiveCount } = found
  const carrierId = found.labels?.id ?? found.id
  const receipt = formatReceipt({
    queue,
    handle,
    carrierId,
    receiveCount,
    stored: delivery.receipt,
  })
  return { ...delivery, receipt }
}

interface Landed {
  readonly delivery: CarrierDelivery
  readonly cancel: () => void
}

interface Admission {
  readonly visibilityMs: number
  readonly heldNames: readonly string[]
  readonly room: number
}

/** Some carriers dead-letter by themselves; others deliver it once more. */
function hasUsedUp({ record }: CarriedQueue, { receiveCount }: CarrierDelivery): boolean {
  const { deadLetter, jobTypes } = record.settings
  const isOwn = deadLetter?.queue === record.name
  return (
    deadLetter !== null && !isOwn && jobTypes.length === 0 && receiveCount > deadLetter.maxReceives
  )
}

/** Most carriers do not number messages. */
export const unnumbered = 0

/** A plain message that was never delivered before, and that the store has not sent. */
function isKnownToRun(
  { record }: CarriedQueue,
  { labels, receiveCount }: CarrierDelivery,
): boolean {
  return labels === null && receiveCount === 1 && record.settings.jobTypes.length === 0
}

export function arriving({ record }: CarriedQueue, found: CarrierDelivery): ArrivingMessage {
  const { labels, id, jobType, sentAt } = found
  const message = messageOf(found)
  const isNewJob = labels === null && record.settings.jobTypes.length > 0 && jobType !== null
  const { body: payload, group: tenant, ...others } = message
  return {
    carrierId: labels?.id ?? id,
    sentAt: labels?.sentAt ?? sentAt,
    id: labels?.isTracked ? labels.id : null,
    message,
    job: isNewJob
      ? { ...others, payload, type: jobType, ...(tenant !== undefined && { tenant }) }
      : null,
    ...(labels?.deadLetterOrigin && { deadLetterOrigin: labels.deadLetterOrigin }),
    ...(labels?.details !== undefined && { details: labels.details }),
  }
}
