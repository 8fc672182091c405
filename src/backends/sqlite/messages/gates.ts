/**
 * What a claim checks before it takes a message: whether a kill switch holds the queue or this kind of
 * message, whether there is room under the ceilings, whether the rate allows it. Every claim makes a new
 * gate inside its transaction, which counts the messages that it takes.
 */

import type { SwitchRecord } from '../../switch-store.ts'
import type { Session } from '../driver/session.ts'
import { type Query, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { bucketName, hasBuckets, type Kind, runningBucket } from './buckets.ts'
import { noteClaims, rateOpensAt, roomInRate } from './rates.ts'

export interface RunningKind {
  readonly type: string | null
  readonly tenant: string | null
  readonly count: number
}

/** A lease that has run out does not count, also before the sweep ends it. */
export const runningKinds: Query<RunningKind> = query<RunningKind>(`
  SELECT job_type AS type, group_name AS tenant, count(*) AS count
  FROM message INDEXED BY message_bucket
  WHERE generation = ? AND bucket = '${runningBucket}' AND due_at > ?
  GROUP BY job_type, group_name`)

/** `open`: may be taken. `closed`: has to wait. Otherwise why it goes to the dead-letter queue. */
export type Verdict = 'open' | 'closed' | { readonly divertedBy: string }

export interface GateOptions {
  readonly session: Session
  readonly queue: Queue
  readonly now: number
  /** Kill switches by name that are on for this call alone. */
  readonly heldNames: readonly string[] | undefined
}

/** Undefined when there is nothing to ask: the rule, and it costs next to nothing. */
export function gateOf(options: GateOptions): Gate | undefined {
  const { session, queue, heldNames = [] } = options
  const isNeeded =
    queue.isLimited ||
    heldNames.length > 0 ||
    !session.queues.switches.isEmpty ||
    hasBuckets(session, queue)
  return isNeeded ? new Gate(options) : undefined
}

export class Gate {
  readonly #options: GateOptions
  readonly #heldNames: ReadonlySet<string>
  readonly #queueSwitch: SwitchRecord | 'held' | undefined
  readonly #canDivertPlain: boolean
  readonly #perType = new Map<string, number>()
  readonly #perTenant = new Map<string, number>()
  #running = 0

  constructor(options: GateOptions) {
    const { session, queue, now, heldNames } = options
    this.#options = options
    this.#heldNames = new Set(heldNames)
    const { deadLetter } = queue.settings
    this.#canDivertPlain =
      deadLetter !== null && session.queues.find(deadLetter.queue) !== undefined
    this.#queueSwitch = this.#strictest(
      session.queues.switches.find('queue', queue.name, now),
      queue.settings.obeys.queue,
    )
    if (queue.countsRunning) this.#countRunning()
  }

  /** Nothing of the queue may be taken, whatever it is. */
  get isHeld(): boolean {
    if (this.#queueSwitch === undefined) return false
    if (this.#queueSwitch === 'held') return true
    // In a FIFO queue one message that cannot be moved keeps its whole group.
    const { queue } = this.#options
    return queue.settings.type === 'fifo' && !this.#canDivertPlain
  }

  /** How many messages may be taken, whatever they are. */
  get room(): number {
    const { session, queue, now } = this.#options
    const { running, rate } = queue.settings.ceilings
    return Math.min(
      running === null ? Number.POSITIVE_INFINITY : running - this.#running,
      rate === null ? Number.POSITIVE_INFINITY : roomInRate(session, queue, rate, now),
    )
  }

  /** When there will be room again, as far as the rate is concerned. */
  get rateOpensAt(): number {
    const { session, queue, now } = this.#options
    const { rate } = queue.settings.ceilings
    return rate === null ? now : rateOpensAt(session, queue, rate, now)
  }

  get isRunningFull(): boolean {
    const { running } = this.#options.queue.settings.ceilings
    return running !== null && this.#running >= running
  }

  /** Hold goes before divert: what waits can still be diverted, but not the other way round. */
  verdict(kind: Kind): Verdict {
    const found = this.#switchFor(kind)
    if (found === 'held') return 'closed'
    if (found !== undefined) {
      const isPlain = kind.type === null
      return isPlain && !this.#canDivertPlain ? 'closed' : { divertedBy: describe(found) }
    }
    return this.#isFull(kind) ? 'closed' : 'open'
  }

  take({ type, tenant }: Kind): void {
    this.#running += 1
    if (type !== null) add(this.#perType, type, 1)
    if (tenant !== null) add(this.#perTenant, tenant, 1)
  }

  /** Whether all of these may be taken together; they are counted if so, and else none of them. */
  takeAll(kinds: readonly Kind[]): boolean {
    const taken: Kind[] = []
    for (const kind of kinds) {
      if (this.verdict(kind) !== 'open') {
        for (const { type, tenant } of taken) {
          this.#running -= 1
          if (type !== null) add(this.#perType, type, -1)
          if (tenant !== null) add(this.#perTenant, tenant, -1)
        }
        return false
      }
      this.take(kind)
      taken.push(kind)
    }
    return true
  }

  /**
   * The bucket for a message that may not be taken. Tenants only have buckets of their own where they are
   * treated apart: buckets are gone through one by one, and there may be very many tenants.
   */
  bucketFor(kind: Kind): string {
    const { session, queue, now } = this.#options
    const { switches } = session.queues
    const isApart =
      queue.settings.ceilings.runningPerTenant !== null ||
      (kind.tenant !== null && switches.find('tenant', kind.tenant, now) !== undefined)
    return bucketName(isApart ? kind : { ...kind, tenant: null })
  }

  /** Writes down what the rate has to know. */
  noteClaims(tx: StoreTransaction, count: number): void {
    const { queue } = this.#options
    const { rate } = queue.settings.ceilings
    if (rate !== null && count > 0) noteClaims(tx, queue, rate, count)
  }

  #countRunning(): void {
    const { session, queue, now } = this.#options
    const rows = session.all(runningKinds, queue.generation, now)
    for (const { type, tenant, count } of rows) {
      this.#running += count
      if (type !== null) add(this.#perType, type, count)
      if (tenant !== null) add(this.#perTenant, tenant, count)
    }
  }

  #isFull({ type, tenant }: Kind): boolean {
    const { queue } = this.#options
    const { running, runningPerTenant, runningPerType } = queue.settings.ceilings
    if (running !== null && this.#running >= running) return true
    if (type !== null && Object.hasOwn(runningPerType, type)) {
      const max = runningPerType[type] ?? 0
      if ((this.#perType.get(type) ?? 0) >= max) return true
    }
    if (runningPerTenant === null || tenant === null) return false
    return (this.#perTenant.get(tenant) ?? 0) >= runningPerTenant
  }

  /**
   * The switch that stops this kind of message, if any. A FIFO queue only knows those that stop it as
   * a whole: to pass over a message would break the order of its group.
   */
  #switchFor({ type, tier, tenant }: Kind): SwitchRecord | 'held' | undefined {
    const { session, queue, now } = this.#options
    const { switches } = session.queues
    if (queue.settings.type === 'fifo') return this.#queueSwitch
    const { types } = queue.settings.obeys
    const names = type !== null && Object.hasOwn(types, type) ? (types[type] ?? []) : []
    let found = this.#strictest(this.#queueSwitch, names)
    if (type !== null) found = stricter(found, switches.find('type', type, now))
    if (tier !== null) found = stricter(found, switches.find('tier', tier, now))
    if (tenant !== null) found = stricter(found, switches.find('tenant', tenant, now))
    return found
  }

  #strictest(
    first: SwitchRecord | 'held' | undefined,
    names: readonly string[],
  ): SwitchRecord | 'held' | undefined {
    const { session, now } = this.#options
    let found = stricter(undefined, first)
    for (const name of names) {
      const named = this.#heldNames.has(name)
        ? 'held'
        : session.queues.switches.find('name', name, now)
      found = stricter(found, named)
    }
    return found
  }
}

function stricter(
  left: SwitchRecord | 'held' | undefined,
  right: SwitchRecord | 'held' | undefined,
): SwitchRecord | 'held' | undefined {
  if (left === 'held' || right === undefined) return left
  if (right === 'held' || right.mode === 'hold') return 'held'
  return left ?? right
}

function describe({ scope, value }: SwitchRecord): string {
  return scope === 'name'
    ? `Diverted by the kill switch ${value}.`
    : `Diverted by the kill switch on the ${scope} ${value}.`
}

function add(counts: Map<string, number>, key: string, change: number): void {
  counts.set(key, (counts.get(key) ?? 0) + change)
}
