/**
 * Polls a queue for a function. One loop watches the queue, collects a batch when a slot is free, and invokes
 * the function. Invocations run concurrently. It receives nothing that it could not invoke, so a busy
 * function costs its messages no receives.
 */
import type { Backend, Delivery, Outcome, SettleResult } from '../../backends/backend.ts'
import { isFifoName } from '../../core/check-queue.ts'
import { isStoreGone } from '../../core/millrace-error.ts'
import { pause } from '../../core/pause.ts'
import type { Ports } from '../../core/ports.ts'
import type { QueuePlace } from '../../sqs/queue-address.ts'
import type { Settler } from '../settler.ts'
import { type Batch, BatchCollector, leaseEnd } from './batch-collector.ts'
import { allOf, type BatchMessage, type BatchVerdict, judgeBatch } from './batch-response.ts'
import { compileFilters } from './event-filter.ts'
import type { FunctionHost, Invocation } from './function-host.ts'
import type { LambdaEventSource } from './lambda-set.ts'
import type { Limit, ReleaseSlot, Slots } from './slots.ts'

export interface PollerSetup {
  readonly backend: Backend
  readonly ports: Ports
  readonly settler: Settler
  readonly source: LambdaEventSource
  readonly host: FunctionHost
  readonly slots: Slots
  /** All limits that a slot of this source counts against. */
  readonly limits: readonly Limit[]
  readonly home: QueuePlace
  readonly heldNames: readonly string[]
  readonly onInvoked: (invocation: BatchReport) => void
  readonly onFiltered: (count: number) => void
  readonly onFailure: (what: PollerWork, error: unknown, retryInMs: number) => void
}

/** The operations that can fail for reasons outside the function. */
export type PollerWork = 'receive' | 'settle' | 'report'

/** An invocation, and how its messages were settled. */
export interface BatchReport {
  readonly invocation: Invocation
  readonly records: number
  readonly acknowledged: number
  /** Messages that are delivered again when their visibility timeout ends. */
  readonly left: number
  /** Messages that were handled, but whose lease had expired. They are delivered again. */
  readonly lost: number
  /** Why a response about single messages could not be used. */
  readonly problem: string | null
}

/** The first pause after a failed receive. It grows with each failure. */
const restMs = 250
const restMsMax = 10_000

/** A batch that waits for a slot is released while this part of its leases is left. */
const leasePartKept = 1 / 4

export class EventSourcePoller {
  readonly #setup: PollerSetup
  readonly #collector: BatchCollector
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #loop: Promise<void> | undefined

  constructor(setup: PollerSetup) {
    this.#setup = setup
    const { backend, ports, source, home, heldNames } = setup
    this.#collector = new BatchCollector({
      backend,
      ports,
      source,
      home,
      heldNames,
      filter: compileFilters([], 'filters', source.filters),
      drop: async (deliveries) => {
        setup.onFiltered(await this.#settle(deliveries, { kind: 'acknowledge' }))
      },
      release: async (deliveries) => {
        await this.#settle(deliveries, { kind: 'release' })
      },
    })
  }

  get running(): number {
    return this.#running.size
  }

  start(): void {
    this.#loop ??= this.#poll()
  }

  /** Stops collecting batches. Resolves when running invocations have ended and are settled. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
    await Promise.all(this.#running)
  }

  async #poll(): Promise<void> {
    const { backend, ports, source, heldNames, onFailure } = this.#setup
    const { signal } = this.#stopping
    for (let failures = 0; !signal.aborted; ) {
      try {
        await backend.whenReady({
          queue: source.queue,
          signal,
          ...(heldNames.length > 0 && { heldNames }),
        })
        await this.#next(signal)
        failures = 0
      } catch (error) {
        // The store is closed or was replaced, so polling ends.
        if (isStoreGone(error)) return
        const delayMs = Math.min(restMsMax, restMs * 2 ** failures)
        failures += 1
        onFailure('receive', error, delayMs)
        await pause(ports.timers, delayMs, signal)
      }
    }
  }

  async #next(signal: AbortSignal): Promise<void> {
    const { slots, limits, source } = this.#setup
    const hasWindow = source.batchingWindowMs > 0
    const free = await slots.acquire(limits, signal)
    if (free === undefined) return
    // Others may run while a batch is collected: on AWS, only an invocation counts too.
    if (hasWindow) free()
    let isBegun = false
    try {
      const batch = await this.#collector.collect(signal)
      if (batch.messages.length === 0) return
      const slot = hasWindow ? await this.#slotFor(batch) : free
      isBegun = slot !== undefined && !signal.aborted
      if (slot !== undefined && isBegun) this.#begin(batch, slot)
      else await this.#handBack(batch, slot)
    } finally {
      if (!isBegun) free()
    }
  }

  /** Waits for a slot for as long as the leases allow. */
  async #slotFor({ receivedAtMs, leaseEndsAtMs }: Batch): Promise<ReleaseSlot | undefined> {
    const { slots, limits, ports } = this.#setup
    const waiting = new AbortController()
    const stopWaiting = (): void => waiting.abort()
    const keptMs = (leaseEndsAtMs - receivedAtMs) * leasePartKept
    const leftMs = leaseEndsAtMs - keptMs - ports.clock.monotonic()
    const cancel = ports.timers.after(leftMs, stopWaiting)
    this.#stopping.signal.addEventListener('abort', stopWaiting, { once: true })
    try {
      return await slots.acquire(limits, waiting.signal)
    } finally {
      cancel()
      this.#stopping.signal.removeEventListener('abort', stopWaiting)
    }
  }

  #begin(batch: Batch, slot: ReleaseSlot): void {
    const running = this.#run(batch, slot)
      // Only the listener of the report can fail here.
      .catch((error: unknown) => this.#setup.onFailure('report', error, 0))
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async #run(batch: Batch, slot: ReleaseSlot): Promise<void> {
    const { host, onInvoked } = this.#setup
    const records = batch.messages.map(({ record }) => record)
    const invocation = await host.invoke({ Records: records }).finally(slot)
    const { failed, problem } = this.#judge(batch, invocation)
    const done = batch.messages.filter(({ delivery }) => !failed.has(delivery.id))
    // Leave failed messages alone: as on AWS, they stay invisible until their timeout ends.
    const acknowledged = await this.#settle(
      done.map(({ delivery }) => delivery),
      { kind: 'acknowledge' },
      batch.leaseEndsAtMs,
    )
    onInvoked({
      invocation,
      records: records.length,
      acknowledged,
      left: records.length - done.length,
      lost: done.length - acknowledged,
      problem,
    })
  }

  #judge({ messages }: Batch, { response }: Invocation): BatchVerdict {
    const { source } = this.#setup
    const batch: readonly BatchMessage[] = messages.map(({ delivery }) => delivery)
    if (response === null) return { failed: allOf(batch), problem: null }
    if (!source.reportsBatchItemFailures) return { failed: new Set(), problem: null }
    return judgeBatch({ response, batch, isFifo: isFifoName(source.queue) })
  }

  async #handBack(
    { messages, leaseEndsAtMs }: Batch,
    slot: ReleaseSlot | undefined,
  ): Promise<void> {
    slot?.()
    const deliveries = messages.map(({ delivery }) => delivery)
    await this.#settle(deliveries, { kind: 'release' }, leaseEndsAtMs)
  }

  /** Settles messages in one call. Resolves with how many were settled. An expired lease is not an error. */
  async #settle(
    deliveries: readonly Delivery[],
    outcome: Outcome,
    leaseEndsAtMs: number = leaseEnd(deliveries, this.#setup.ports.clock),
  ): Promise<number> {
    const { settler, ports, source, onFailure } = this.#setup
    const isWorthwhile = (): boolean => ports.clock.monotonic() < leaseEndsAtMs
    const results = await Promise.allSettled(
      deliveries.map(({ receipt }) =>
        settler.settle(source.queue, { receipt, outcome }, isWorthwhile),
      ),
    )
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) onFailure('settle', failed.reason, 0)
    return results.filter((result) => result.status === 'fulfilled' && isDone(result.value)).length
  }
}

/** A function with a store settles its own messages, so they may be gone already. */
function isDone({ status }: SettleResult): boolean {
  return status === 'settled' || status === 'gone'
}
