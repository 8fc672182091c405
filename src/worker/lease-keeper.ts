/**
 * Keeps the leases of a worker from claim to settlement. It notices when one is lost, because the job was
 * cancelled or because the lease could not be renewed in time. It then aborts the signal of a running
 * handler, and does not start a waiting one.
 */
import type { Backend, LeaseResult, LeaseState } from '../backends/backend.ts'
import { leaseMsMax, limits } from '../core/limits.ts'
import type { Ports } from '../core/ports.ts'
import { slicesOf } from '../core/slices-of.ts'
import type { AbortKind } from './abort-reason.ts'
import type { LeaseGuard } from './lease-guard.ts'

/** The handler of a cancelled job is aborted within this time. */
const lookMs = 1_000

/** A lease is renewed when this part of it has passed, and checked twice as often. */
const renewAfter = 1 / 3

/** How a lease can be lost. */
export type LeaseLoss = Extract<AbortKind, 'lease_lost' | 'cancelled'>

/** A lease as it was claimed. Times are on the monotonic clock. */
export interface ClaimedLease {
  /** The queue's name on the backend. */
  readonly queue: string
  readonly receipt: string
  readonly visibilityMs: number
  /** Undefined for a message that is not a job. */
  readonly jobId: string | undefined
  /** When the claim was sent to the store. The lease began then, or later. */
  readonly claimedMs: number
  /** Whether its handler starts later: until `start`, the guard releases it instead of renewing it. */
  readonly isWaiting: boolean
}

export interface HeldLease extends ClaimedLease {
  /** The lease cannot be extended beyond this time. */
  readonly lastMs: number
  renewAtMs: number
  expiresAtMs: number
  slot: number
  loss: LeaseLoss | undefined
  /** Whether its end is on the way to the store: then only the settlement finds out whether it was lost. */
  isSettling: boolean
  /** Called once, when the lease is lost while its handler runs. */
  onLost: ((loss: LeaseLoss) => void) | undefined
}

export interface LeaseKeeperSetup {
  readonly backend: Pick<Backend, 'extend' | 'leaseStates' | 'jobs'>
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  /** Renews from another thread while this one is blocked. */
  readonly guard:
    | Pick<LeaseGuard, 'hold' | 'start' | 'renewed' | 'drop' | 'remainingMs'>
    | undefined
}

export class LeaseKeeper {
  readonly #setup: LeaseKeeperSetup
  readonly #held = new Set<HeldLease>()
  /** Queues whose lease states have been requested from the store. */
  readonly #checking = new Set<string>()
  #cancelTimer: (() => void) | undefined
  #tickMs = lookMs

  constructor(setup: LeaseKeeperSetup) {
    this.#setup = setup
  }

  /**
   * Keeps a lease from its claim on. Call it before waiting for anything, because the lease is already
   * running.
   */
  hold(lease: ClaimedLease): HeldLease {
    const { queue, receipt, visibilityMs, jobId, claimedMs, isWaiting } = lease
    const elapsedMs = this.#setup.ports.clock.monotonic() - claimedMs
    const held: HeldLease = {
      queue,
      receipt,
      visibilityMs,
      jobId,
      claimedMs,
      isWaiting,
      lastMs: claimedMs + leaseMsMax,
      renewAtMs: claimedMs + visibilityMs * renewAfter,
      expiresAtMs: claimedMs + visibilityMs,
      slot: this.#setup.guard?.hold({ queue, receipt, visibilityMs, elapsedMs, isWaiting }) ?? -1,
      loss: undefined,
      isSettling: false,
      onLost: undefined,
    }
    this.#held.add(held)
    this.#tickMs = Math.min(this.#tickMs, (visibilityMs * renewAfter) / 2)
    if (this.#cancelTimer === undefined) this.#plan()
    return held
  }

  /** Returns whether a handler may start now. False if the guard has released the lease. */
  start(held: HeldLease): boolean {
    return this.#setup.guard?.start(held.slot) ?? true
  }

  drop(held: HeldLease): void {
    this.#held.delete(held)
    this.#setup.guard?.drop(held.slot)
  }

  /** Whether the lease with this receipt is kept here, alive or lost. */
  holds(receipt: string): boolean {
    return [...this.#held].some((held) => held.receipt === receipt)
  }

  /** Whether the lease may still be alive, as far as this process knows. */
  mayLive(held: HeldLease): boolean {
    return held.loss === undefined && !this.#hasExpired(held, this.#setup.ports.clock.monotonic())
  }

  /** Renews a lease that looks expired. Resolves with false if another receiver has it. */
  async renew(held: HeldLease): Promise<boolean> {
    if (held.loss === undefined) {
      await this.#renew(held.queue, [held], this.#setup.ports.clock.monotonic())
    }
    return held.loss === undefined
  }

  /** Records that a lease was lost, and calls `onLost`. */
  lose(held: HeldLease, loss: LeaseLoss): void {
    if (held.loss !== undefined) return
    held.loss = loss
    held.onLost?.(loss)
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #plan(): void {
    const tick = (): void => {
      this.#cancelTimer = undefined
      if (this.#held.size === 0) return
      this.#plan()
      void this.#look()
    }
    const { timers } = this.#setup.ports
    this.#cancelTimer = timers.after(Math.max(1, this.#tickMs), tick, { background: true })
  }

  async #look(): Promise<void> {
    const nowMs = this.#setup.ports.clock.monotonic()
    const queues = new Map<string, HeldLease[]>()
    for (const held of this.#held) {
      if (held.loss !== undefined) continue
      if (this.#hasExpired(held, nowMs)) {
        // The store was unreachable for a whole lease, so another receiver may have the message.
        void this.#lost(held)
        continue
      }
      if (this.#checking.has(held.queue)) continue
      const ofQueue = queues.get(held.queue)
      if (ofQueue === undefined) queues.set(held.queue, [held])
      else ofQueue.push(held)
    }
    await Promise.all([...queues].map(([queue, held]) => this.#keep(queue, held, nowMs)))
  }

  /** The guard may have renewed it even if this thread has not. */
  #hasExpired(held: HeldLease, nowMs: number): boolean {
    if (nowMs < held.expiresAtMs) return false
    const remainingMs = this.#setup.guard?.remainingMs(held.slot) ?? 0
    if (remainingMs <= 0) return true
    held.expiresAtMs = nowMs + remainingMs
    return false
  }

  async #keep(queue: string, held: readonly HeldLease[], nowMs: number): Promise<void> {
    this.#checking.add(queue)
    const due = held.filter((lease) => isDue(lease, nowMs))
    const others = held.filter((lease) => !lease.isSettling && !isDue(lease, nowMs))
    const { max } = limits.messagesPerCall
    try {
      await Promise.all([
        ...slicesOf(due, max).map((some) => this.#renew(queue, some, nowMs)),
        ...slicesOf(others, max).map((some) => this.#inspect(queue, some)),
      ])
    } catch {
      // The next tick tries again. A lease that expires meanwhile is reported as lost.
    } finally {
      this.#checking.delete(queue)
    }
  }

  async #renew(queue: string, due: readonly HeldLease[], nowMs: number): Promise<void> {
    if (due.length === 0) return
    const leases = due.map((lease) => ({
      receipt: lease.receipt,
      visibilityMs: extensionMs(lease, nowMs),
    }))
    const results = await this.#setup.backend.extend({ queue, leases })
    await Promise.all(due.map((lease, index) => this.#note(lease, results[index], nowMs)))
  }

  async #note(lease: HeldLease, result: LeaseResult | undefined, nowMs: number): Promise<void> {
    if (result === undefined) return
    if (result.status !== 'extended') return this.#lost(lease)
    const ms = extensionMs(lease, nowMs)
    lease.renewAtMs = nowMs + lease.visibilityMs * renewAfter
    lease.expiresAtMs = nowMs + ms
    this.#setup.guard?.renewed(lease.slot, ms)
  }

  async #inspect(queue: string, held: readonly HeldLease[]): Promise<void> {
    if (held.length === 0) return
    const receipts = held.map(({ receipt }) => receipt)
    const states: readonly LeaseState[] = await this.#setup.backend.leaseStates({ queue, receipts })
    const lost = held.filter((lease, index) => states[index] !== 'live' && !lease.isSettling)
    await Promise.all(lost.map((lease) => this.#lost(lease)))
  }

  async #lost(lease: HeldLease): Promise<void> {
    const isCancelled = await this.#isCancelled(lease)
    // It may have been settled while the store was read.
    if (this.#held.has(lease)) this.lose(lease, isCancelled ? 'cancelled' : 'lease_lost')
  }

  async #isCancelled({ jobId }: HeldLease): Promise<boolean> {
    if (jobId === undefined) return false
    try {
      return (await this.#setup.backend.jobs?.read({ id: jobId }))?.status === 'cancelled'
    } catch {
      return false
    }
  }
}

/** A lease that cannot be extended further is only checked until it ends. */
function isDue(lease: HeldLease, nowMs: number): boolean {
  return nowMs >= lease.renewAtMs && nowMs + extensionMs(lease, nowMs) > lease.expiresAtMs
}

function extensionMs({ visibilityMs, lastMs }: HeldLease, nowMs: number): number {
  return Math.max(0, Math.floor(Math.min(visibilityMs, lastMs - nowMs)))
}
