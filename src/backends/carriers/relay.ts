/**
 * Sends what waits in the outbox of a queue to its carrier, as soon as it is there. Any number of processes may
 * do so; each message is taken by one of them.
 */
import { pause } from '../../core/pause.ts'
import type { Ports } from '../../core/ports.ts'
import type { Backend } from '../backend.ts'
import type { CarriedStore, OutgoingMessage } from '../carried-store.ts'
import type { CarriedQueue } from './carried-queues.ts'
import type { CarrierLabels, CarrierMessage } from './carrier.ts'

/** Messages of one look. */
const sliceSize = 500
/** How long a process may take to send them, before another process sends them. */
const holdMs = 30_000
/** Pause after a failure. It doubles up to the longest. */
const retryMs = 200
const retryMsMax = 30_000
/** Pause when there was nothing to take, although there seemed to be. */
const idleMs = 100

export interface RelayOptions {
  readonly store: Backend
  readonly carried: CarriedStore
  readonly queue: CarriedQueue
  readonly ports: Ports
  /** Called when messages leave the store. */
  readonly onUntracked: () => void
  readonly onFailure: (error: unknown, retryInMs: number) => void
}

export class Relay {
  readonly #options: RelayOptions
  readonly #stopping = new AbortController()
  #slice: Promise<boolean> | undefined
  #running: Promise<void> | undefined
  /** Something of this process may be in the outbox. */
  #isDirty = false
  #failures = 0

  constructor(options: RelayOptions) {
    this.#options = options
  }

  start(): void {
    this.#running ??= this.#loop()
  }

  noteChange(): void {
    this.#isDirty = true
  }

  /** Sends what this process has put into the outbox. */
  async flush(): Promise<void> {
    while (this.#isDirty) {
      this.#isDirty = false
      while (await this.#sendSlice());
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #loop(): Promise<void> {
    const { store, queue } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await store.whenReady({ queue: queue.name, signal })
        if (signal.aborted) return
        const hasSent = await this.#sendSlice()
        this.#failures = 0
        if (!hasSent) await this.#pause(idleMs)
      } catch (error) {
        if (signal.aborted) return
        this.#failures += 1
        const retryInMs = Math.min(retryMs * 2 ** this.#failures, retryMsMax)
        this.#options.onFailure(error, retryInMs)
        await this.#pause(retryInMs)
      }
    }
  }

  /** One slice at a time, so that messages keep their order. */
  async #sendSlice(): Promise<boolean> {
    while (this.#slice !== undefined) await this.#slice.catch(() => false)
    this.#slice = this.#sendNext()
    try {
      return await this.#slice
    } finally {
      this.#slice = undefined
    }
  }

  async #sendNext(): Promise<boolean> {
    const { carried, queue: carriedQueue, ports } = this.#options
    const { name: queue, carrier, record } = carriedQueue
    const isFifo = record.settings.type === 'fifo'
    const taken = await carried.take({ queue, max: sliceSize, holdMs })
    if (taken.length === 0) return false
    const messages = taken.map((message) => carriedMessage(message, isFifo, ports))
    let results: Awaited<ReturnType<typeof carrier.send>>
    try {
      results = await carrier.send({ queue, messages })
    } catch (error) {
      await carried.untake({ queue, sequences: taken.map(({ sequence }) => sequence) })
      throw error
    }
    const wasSent = (_: OutgoingMessage, index: number): boolean =>
      results[index]?.status !== 'refused'
    const sent = taken.filter(wasSent)
    const unsent = taken.filter((message, index) => !wasSent(message, index))
    const numbers = (list: readonly OutgoingMessage[]): readonly number[] =>
      list.map(({ sequence }) => sequence)
    if (sent.some(({ isTracked }) => !isTracked)) this.#options.onUntracked()
    if (sent.length > 0) await carried.sent({ queue, sequences: numbers(sent) })
    if (unsent.length === 0) return true
    await carried.untake({ queue, sequences: numbers(unsent) })
    throw results.flatMap((result) => (result.status === 'refused' ? [result.error] : []))[0]
  }

  #pause(ms: number): Promise<void> {
    return pause(this.#options.ports.timers, ms, this.#stopping.signal)
  }
}

/** A message of the store in the form of a carrier. */
function carriedMessage(message: OutgoingMessage, isFifo: boolean, { ids }: Ports): CarrierMessage {
  const { body, attributes, systemAttributes, group, isTracked } = message
  const { deduplicationId } = message
  return {
    labels: labelsOf(message),
    body,
    attributes,
    systemAttributes,
    delayMs: isFifo ? null : 0,
    group,
    // A tracked message may be sent again, and the store recognises the copies.
    deduplicationId: isTracked && deduplicationId !== null ? ids.next() : deduplicationId,
  }
}

function labelsOf(message: OutgoingMessage): CarrierLabels {
  const { id, isTracked, job, details, deadLetterOrigin, sentAt } = message
  return {
    id,
    isTracked,
    job,
    ...(details !== null && { details }),
    ...(deadLetterOrigin !== null && { deadLetterOrigin, sentAt }),
  }
}
