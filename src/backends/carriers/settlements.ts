/**
 * Settles deliveries of carriers. What changes the store is one transaction there, and the carrier follows: it
 * deletes the message, or returns it after a delay. If the process dies in between, the message is delivered
 * again, and the store recognises it. A message that only the carrier has, and that is settled without effects,
 * costs no write to the store.
 */
import type { NewMessage } from '../../core/message.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type {
  Backend,
  Delivery,
  Extension,
  LeaseResult,
  Outcome,
  Settlement,
  SettleResult,
} from '../backend.ts'
import type { ArrivedSettlement, CarriedStore } from '../carried-store.ts'
import type { CarriedQueue } from './carried-queues.ts'
import { type CarriedReceipt, parseReceipt } from './carried-receipt.ts'
import type { HeldDeliveries } from './held-deliveries.ts'
import type { Tally } from './tally.ts'

export interface SettlementsOptions {
  readonly store: Backend
  readonly carried: CarriedStore
  readonly held: HeldDeliveries
  readonly tally: Tally
  readonly onFailure: (queue: string, error: unknown) => void
}

interface Received<Item> {
  readonly index: number
  readonly item: Item
  readonly receipt: CarriedReceipt
}

export class Settlements {
  readonly #options: SettlementsOptions

  constructor(options: SettlementsOptions) {
    this.#options = options
  }

  async settle(
    queue: CarriedQueue,
    settlements: readonly Settlement[],
  ): Promise<readonly SettleResult[]> {
    const stored: Received<Settlement>[] = []
    const untracked: Received<Settlement>[] = []
    const results: SettleResult[] = settlements.map(() => invalid)
    const ofStore: { readonly index: number; readonly item: Settlement }[] = []
    for (const [index, item] of settlements.entries()) {
      const receipt = this.#receiptOf(item.receipt)
      if (receipt === undefined) ofStore.push({ index, item })
      else if (receipt.queue !== queue.name) continue
      else if (receipt.stored === null) untracked.push({ index, item, receipt })
      else stored.push({ index, item, receipt })
    }
    await Promise.all([
      this.#settleInStore(queue, ofStore, results),
      this.#settleStored(queue, stored, results),
      this.#settleUntracked(queue, untracked, results),
    ])
    return results
  }

  /** A delivery that the store tracks by now has a receipt there. */
  #receiptOf(text: string): CarriedReceipt | undefined {
    const receipt = parseReceipt(text)
    const stored = this.#options.held.storedReceipt(text)
    return receipt === undefined || stored === undefined ? receipt : { ...receipt, stored }
  }

  /** Messages that the store has given out by itself, as an inbox does. */
  async #settleInStore(
    queue: CarriedQueue,
    received: readonly { readonly index: number; readonly item: Settlement }[],
    results: SettleResult[],
  ): Promise<void> {
    if (received.length === 0) return
    const settlements = received.map(({ item }) => item)
    const settled = await this.#options.store.settle({ queue: queue.name, settlements })
    for (const [place, { index }] of received.entries()) results[index] = settled[place] ?? invalid
  }

  async #settleStored(
    queue: CarriedQueue,
    received: readonly Received<Settlement>[],
    results: SettleResult[],
  ): Promise<void> {
    if (received.length === 0) return
    const settlements = received.map(({ item, receipt }) => ({
      ...item,
      receipt: receipt.stored ?? '',
      ...(mayReturn(queue, item) && { returnsToCarrier: true as const }),
    }))
    const settled = await this.#options.store.settle({ queue: queue.name, settlements })
    const ended: Received<Settlement>[] = []
    for (const [place, one] of received.entries()) {
      const result = settled[place] ?? invalid
      results[one.index] = result
      // A message that has ended, by this settlement or before, is deleted at the carrier.
      const waitsInStore = one.item.outcome.kind === 'retry' && !mayReturn(queue, one.item)
      if (result.status === 'settled' && !waitsInStore) ended.push(one)
      else if (result.status === 'settled' || result.status === 'gone')
        ended.push({ ...one, item: { ...one.item, outcome: gone } })
    }
    await this.#followCommit(queue, ended)
  }

  /** The store has committed: if the carrier fails, it delivers the message again, and that is recognised. */
  async #followCommit(queue: CarriedQueue, ended: readonly Received<Settlement>[]): Promise<void> {
    try {
      await this.#follow(queue, ended)
    } catch (error) {
      this.#options.onFailure(queue.name, error)
    }
  }

  async #settleUntracked(
    queue: CarriedQueue,
    received: readonly Received<Settlement>[],
    results: SettleResult[],
  ): Promise<void> {
    const simple = received.filter(({ item }) => !hasEffects(item))
    const others = received.filter(({ index, item }) => {
      if (!hasEffects(item)) return false
      const state = this.#options.held.state(queue.name, item.receipt)
      const isAccepted = state === 'live' || (state === 'lapsed' && mayBeLate(queue, item))
      if (!isAccepted) results[index] = { status: state }
      return isAccepted
    })
    const following = simple.length > 0 ? this.#follow(queue, simple) : Promise.resolve([])
    const [followed] = await Promise.all([
      following,
      this.#settleWithEffects(queue, others, results),
    ])
    for (const [place, { index, item }] of simple.entries()) {
      const isDone = followed[place] === true
      results[index] = isDone ? settled : { status: this.#refusal(queue.name, item.receipt) }
      if (isDone) this.#noteEnd(queue.name, item)
    }
  }

  async #settleWithEffects(
    queue: CarriedQueue,
    received: readonly Received<Settlement>[],
    results: SettleResult[],
  ): Promise<void> {
    if (received.length === 0) return
    const { carried, held } = this.#options
    const settlements = received.map(({ item, receipt }) =>
      arrivedSettlement(item, receipt, held.find(queue.name, item.receipt)),
    )
    const stored = await carried.settle({ queue: queue.name, settlements })
    const ended: Received<Settlement>[] = []
    for (const [place, one] of received.entries()) {
      const result = stored[place] ?? invalid
      results[one.index] = result
      if (result.status === 'refused') continue
      if (result.status === 'settled') this.#noteEnd(queue.name, one.item)
      else held.remove(one.item.receipt)
      ended.push(one)
    }
    await this.#followCommit(queue, ended)
  }

  #noteEnd(queue: string, { receipt, outcome }: Settlement): void {
    const { held } = this.#options
    if (outcome.kind === 'acknowledge' || outcome.kind === 'deadLetter') held.remove(receipt)
    else held.end(receipt)
    if (outcome.kind === 'acknowledge') this.#options.tally.add(queue, 'acknowledged', 1)
    if (outcome.kind === 'retry') this.#options.tally.add(queue, 'failedAttempts', 1)
  }

  /** Deletes messages at the carrier, or returns them there. */
  async #follow(
    { name: queue, carrier, ...rest }: CarriedQueue,
    received: readonly Received<Settlement>[],
  ): Promise<readonly boolean[]> {
    const done: boolean[] = received.map(() => false)
    const removed: number[] = []
    const returned: number[] = []
    const delays = received.map(({ item }) =>
      returnDelay({ name: queue, carrier, ...rest }, item.outcome),
    )
    for (const [place, delay] of delays.entries())
      (delay === undefined ? removed : returned).push(place)
    const note = (places: readonly number[], results: readonly boolean[]): void => {
      for (const [index, place] of places.entries()) done[place] = results[index] ?? false
    }
    const ends = removed.map((place) => endOf(received[place]))
    const returns = returned.map((place) => ({
      handle: received[place]?.receipt.handle ?? '',
      delayMs: delays[place] ?? 0,
      ...errorOf(received[place]?.item.outcome),
    }))
    await Promise.all([
      ends.length > 0 &&
        carrier.remove({ queue, messages: ends }).then((all) => note(removed, all)),
      returns.length > 0 &&
        carrier.release({ queue, messages: returns }).then((all) => note(returned, all)),
    ])
    return done
  }

  /** Why a carrier refused a receipt, as far as this process can tell. */
  #refusal(name: string, receipt: string): 'gone' | 'stale' | 'lapsed' {
    const state = this.#options.held.state(name, receipt)
    return state === 'live' ? 'stale' : state
  }

  async extend(
    { name: queue, carrier }: CarriedQueue,
    leases: readonly Extension[],
  ): Promise<readonly LeaseResult[]> {
    const { store, held } = this.#options
    const receipts = leases.map(({ receipt }) => this.#receiptOf(receipt))
    const ofStore = leases.map((lease, index) => {
      const receipt = receipts[index]
      if (receipt !== undefined && receipt.queue !== queue) return undefined
      const stored = receipt === undefined ? lease.receipt : receipt.stored
      return stored == null ? undefined : { ...lease, receipt: stored }
    })
    const inStore = ofStore.filter((lease) => lease !== undefined)
    const atCarrier = leases.flatMap(({ visibilityMs }, index) => {
      const receipt = receipts[index]
      const handle = receipt?.queue === queue ? receipt.handle : undefined
      return handle === undefined ? [] : [{ handle, visibilityMs }]
    })
    const [stored, carried] = await Promise.all([
      inStore.length > 0 ? store.extend({ queue, leases: inStore }) : [],
      atCarrier.length > 0 ? carrier.extend({ queue, leases: atCarrier }) : [],
    ])
    let nextStored = 0
    let nextCarried = 0
    return leases.map(({ receipt, visibilityMs }, index) => {
      if (receipts[index] !== undefined && receipts[index]?.queue !== queue) return invalid
      const isExtended = receipts[index] === undefined || carried[nextCarried++] === true
      if (ofStore[index] !== undefined) return stored[nextStored++] ?? invalid
      if (!isExtended) return { status: this.#refusal(queue, receipt) }
      return { status: 'extended', leaseExpiresAt: held.extended(receipt, visibilityMs) }
    })
  }
}

const invalid = { status: 'refused', error: new MillraceError('receipt_invalid') } as const
const settled: SettleResult = { status: 'settled', emitted: [], enqueued: [] }
const gone: Outcome = { kind: 'acknowledge' }

export function mayChangeStore(settlement: Settlement): boolean {
  const receipt = parseReceipt(settlement.receipt)
  return receipt === undefined || receipt.stored !== null || hasEffects(settlement)
}

/** Whether the store takes part in a settlement of a message that only the carrier has. */
function hasEffects(settlement: Settlement): boolean {
  const { receipt: _, outcome, ...parts } = settlement
  if (outcome.kind === 'deadLetter') return true
  return Object.values(parts).some((part) => !Array.isArray(part) || part.length > 0)
}

/** After how long the carrier delivers the message again; undefined if it is to delete it. */
function returnDelay({ carrier }: CarriedQueue, outcome: Outcome): number | undefined {
  if (outcome.kind === 'release') return 0
  if (outcome.kind !== 'retry') return undefined
  return Math.min(outcome.delayMs, carrier.capabilities.returnMsMax)
}

/** Standard queues accept a late acknowledgement. Its effects happen once: those of the first settlement. */
function mayBeLate({ record }: CarriedQueue, { outcome }: Settlement): boolean {
  return outcome.kind === 'acknowledge' && record.settings.type === 'standard'
}

/** A longer delay waits in the store, which sends the message again. */
function mayReturn({ carrier, record }: CarriedQueue, { outcome }: Settlement): boolean {
  if (outcome.kind !== 'retry') return outcome.kind === 'release'
  // The carrier forgets the message at the end of its retention.
  const keptMs = record.settings.retentionMs / 2
  return outcome.delayMs <= Math.min(carrier.capabilities.returnMsMax, keptMs)
}

function errorOf(outcome: Outcome | undefined): { readonly error?: string } {
  return outcome?.kind === 'retry' ? { error: outcome.error ?? 'The attempt failed.' } : {}
}

function endOf(received: Received<Settlement> | undefined): {
  readonly handle: string
  readonly result?: string
  readonly error?: string
} {
  const handle = received?.receipt.handle ?? ''
  const outcome = received?.item.outcome
  if (outcome?.kind === 'deadLetter') return { handle, error: outcome.reason }
  if (outcome?.kind === 'retry') return { handle, ...errorOf(outcome) }
  if (outcome?.kind !== 'acknowledge' || outcome.result === undefined) return { handle }
  return { handle, result: outcome.result }
}

function arrivedSettlement(
  settlement: Settlement,
  { carrierId, receiveCount }: CarriedReceipt,
  delivery: Delivery | undefined,
): ArrivedSettlement {
  const { kind } = settlement.outcome
  const isFinal = kind === 'acknowledge' || kind === 'deadLetter'
  const id = isFinal ? carrierId : `${carrierId}#${receiveCount}`
  if (kind !== 'deadLetter' || delivery === undefined) return { carrierId: id, settlement }
  return { carrierId: id, settlement, message: messageOf(delivery), sentAt: delivery.sentAt }
}

type Content = Pick<
  Delivery,
  'body' | 'attributes' | 'systemAttributes' | 'group' | 'deduplicationId'
>

/** The content of a delivery, to be stored. */
export function messageOf(delivery: Content): NewMessage {
  const { body, attributes, systemAttributes, group, deduplicationId } = delivery
  return {
    body,
    ...(Object.keys(attributes).length > 0 && { attributes }),
    ...(Object.keys(systemAttributes).length > 0 && { systemAttributes }),
    ...(group !== null && { group }),
    ...(deduplicationId !== null && { deduplicationId }),
  }
}
