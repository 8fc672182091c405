/**
 * Collects one batch of an event source. Without a batching window it is the result of one receive. With one,
 * it is what arrives until the batch is full, the window ends, or the event would be too large for Lambda.
 * Messages that the filters drop are deleted. Messages that do not fit are released for the next batch.
 */
import type { Backend, Delivery } from '../../backends/backend.ts'
import { limits } from '../../core/limits.ts'
import type { Ports } from '../../core/ports.ts'
import type { QueuePlace } from '../../sqs/queue-address.ts'
import type { EventFilter } from './event-filter.ts'
import type { LambdaEventSource } from './lambda-set.ts'
import { type SqsRecord, sqsRecord } from './sqs-event.ts'

export interface CollectedMessage {
  readonly delivery: Delivery
  readonly record: SqsRecord
}

export interface Batch {
  readonly messages: readonly CollectedMessage[]
  /** On the monotonic clock: when its first messages were received, and when their leases end. */
  readonly receivedAtMs: number
  readonly leaseEndsAtMs: number
}

export interface BatchCollectorSetup {
  readonly backend: Pick<Backend, 'receive'>
  readonly ports: Pick<Ports, 'clock'>
  readonly source: LambdaEventSource
  readonly home: QueuePlace
  readonly heldNames: readonly string[]
  readonly filter: EventFilter
  /** Deletes messages that no filter matches. */
  readonly drop: (deliveries: readonly Delivery[]) => Promise<void>
  /** Releases messages that are not for this batch. */
  readonly release: (deliveries: readonly Delivery[]) => Promise<void>
}

/** Lambda's limit for the payload of one invocation. */
const eventBytesMax = 6 * 1_048_576

/** As many as SQS returns in one receive. Later receives depend on the size of the first messages. */
const firstReceive = 10

export class BatchCollector {
  readonly #setup: BatchCollectorSetup

  constructor(setup: BatchCollectorSetup) {
    this.#setup = setup
  }

  /** Resolves when the batch is complete or the signal is aborted. The batch may be empty. */
  async collect(signal: AbortSignal): Promise<Batch> {
    const { ports, source } = this.#setup
    const growing = new GrowingBatch(source.batchSize)
    const first = await this.#receive(growing, 0, signal)
    const receivedAtMs = ports.clock.monotonic()
    const leaseEndsAtMs = leaseEnd(first, ports.clock)
    await this.#sort(first, growing)
    while (!growing.isEmpty && !growing.isFull && !signal.aborted) {
      const leftMs = receivedAtMs + source.batchingWindowMs - ports.clock.monotonic()
      if (leftMs <= 0) break
      await this.#sort(await this.#receive(growing, leftMs, signal), growing)
    }
    return { messages: growing.messages, receivedAtMs, leaseEndsAtMs }
  }

  async #receive(
    growing: GrowingBatch,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<readonly Delivery[]> {
    const { backend, source, heldNames } = this.#setup
    try {
      return await backend.receive({
        queue: source.queue,
        max: growing.wanted,
        waitMs: Math.min(Math.ceil(waitMs), limits.receiveWaitMs.max),
        signal,
        ...(heldNames.length > 0 && { heldNames }),
      })
    } catch (error) {
      // Keep what was collected. If the store still fails, the next receive reports it.
      if (!signal.aborted && growing.isEmpty) throw error
      growing.complete()
      return []
    }
  }

  async #sort(deliveries: readonly Delivery[], growing: GrowingBatch): Promise<void> {
    const { source, home, filter, drop, release } = this.#setup
    const dropped: Delivery[] = []
    const over: Delivery[] = []
    for (const delivery of deliveries) {
      const record = sqsRecord(delivery, source.queue, home)
      if (!filter(record)) dropped.push(delivery)
      // After one that did not fit, add none, or a group would lose its order.
      else if (over.length > 0 || !growing.add({ delivery, record })) over.push(delivery)
    }
    if (dropped.length > 0) await drop(dropped)
    if (over.length > 0) await release(over)
  }
}

/** When new leases end, on the monotonic clock. */
export function leaseEnd(deliveries: readonly Delivery[], clock: Ports['clock']): number {
  const [first] = deliveries
  return clock.monotonic() + (first === undefined ? 0 : first.leaseExpiresAt - first.leasedAt)
}

class GrowingBatch {
  readonly messages: CollectedMessage[] = []
  readonly #size: number
  #bytes = 0
  #isFull = false

  constructor(size: number) {
    this.#size = size
  }

  get isEmpty(): boolean {
    return this.messages.length === 0
  }

  get isFull(): boolean {
    return this.#isFull || this.messages.length >= this.#size
  }

  /** How many messages to receive, so that few must be released again. */
  get wanted(): number {
    const { length } = this.messages
    if (length === 0) return Math.min(firstReceive, this.#size)
    const fitting = Math.floor((eventBytesMax - this.#bytes) / (this.#bytes / length))
    return Math.max(1, Math.min(limits.messagesPerCall.max, this.#size - length, fitting))
  }

  complete(): void {
    this.#isFull = true
  }

  /** Returns false if there is no room for it. The batch is then complete. */
  add(message: CollectedMessage): boolean {
    const bytes = Buffer.byteLength(JSON.stringify(message.record)) + 1
    if (!this.isEmpty && this.#bytes + bytes > eventBytesMax) {
      this.complete()
      return false
    }
    this.#bytes += bytes
    this.messages.push(message)
    return true
  }
}
