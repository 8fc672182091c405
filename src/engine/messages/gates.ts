/**
 * What a claim checks before it takes a message: whether a kill switch holds the queue or this kind of
 * message, whether there is room under the ceilings, whether the rate allows it. Every claim makes a new
 * gate inside its transaction, which counts the messages that it takes.
 */

import type { SwitchRecord } from '../../backends/switch-store.ts'
import type { Queue } from '../queues/queue.ts'
import { type Query, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { bucketName, hasBuckets, type Kind, keysOf, runningBucket } from './buckets.ts'
import { KeyRates } from './key-rates.ts'
import {
  type Claimed,
  claimedLately,
  noteClaims,
  type Rated,
  rateOpensAt,
  roomInRate,
} from './rates.ts'
import { type RunningByValue, type RunningKind, runningByValue } from './running-by-value.ts'

interface RunningRow {
  readonly type: string | null
  readonly tenant: string | null
  readonly limit_keys?: string | null
  readonly count: number
}

/** A lease that has run out does not count, also before the sweep ends it. */
const countRunning = (more: string): Query<RunningRow> =>
  query<RunningRow>(`
    SELECT job_type AS type, group_name AS tenant${more}, count(*) AS count
    FROM message /*sqlite INDEXED BY message_bucket */
    WHERE generation = ? AND bucket = '${runningBucket}' AND due_at > ?
    GROUP BY job_type, group_name${more}`)
const sql = {
  running: countRunning(''),
  runningKeyed: countRunning(', limit_keys'),
}

/** `open`: may be taken. `closed`: has to wait. Otherwise why it goes to the dead-letter queue. */
export type Verdict = 'open' | 'closed' | { readonly divertedBy: string }

export interface GateOptions {
  readonly view: View
  readonly queue: Queue
  /** Kill switches by name that are on for this call alone. */
  readonly heldNames: readonly string[] | undefined
}

/** Whether there is something to ask, apart from what waits in buckets. */
export function hasGate({ view, queue, heldNames = [] }: GateOptions): boolean {
  return queue.isLimited || heldNames.length > 0 || !view.switches.isEmpty
}

/** Undefined when there is nothing to ask: the rule, and it costs next to nothing. */
export function* gateOf(options: GateOptions): Steps<Gate | undefined> {
  const isNeeded = hasGate(options) || (yield* hasBuckets(options.view, options.queue))
  return isNeeded ? yield* makeGate(options) : undefined
}

export function* makeGate({ view, queue, heldNames }: GateOptions): Steps<Gate> {
  const { deadLetter, ceilings } = queue.settings
  const canDivertPlain =
    deadLetter !== null && (yield* view.findQueue(deadLetter.queue)) !== undefined
  const { rate } = ceilings
  const rated = rate === null ? undefined : { queue, rate, key: '' }
  const claimed = rated === undefined ? [] : yield* claimedLately(view, rated)
  const running = queue.countsRunning ? yield* readRunning(view, queue) : []
  return new Gate({ view, queue, heldNames, canDivertPlain, rated, claimed, running })
}

function* readRunning(view: View, queue: Queue): Steps<readonly RunningRow[]> {
  const isKeyed = queue.settings.ceilings.perKey.length > 0
  return yield* view.all(isKeyed ? sql.runningKeyed : sql.running, queue.generation, view.now)
}

/** What a gate decides by. */
interface GateFacts extends GateOptions {
  readonly canDivertPlain: boolean
  /** The rate of the whole queue, and what was claimed in its window. */
  readonly rated: Rated | undefined
  readonly claimed: Claimed
  readonly running: readonly RunningRow[]
}

/** Its verdicts follow from what was read before. Rates of a kind are read by `prepare`. */
export class Gate {
  readonly #facts: GateFacts
  readonly #heldNames: ReadonlySet<string>
  readonly #queueSwitch: SwitchRecord | 'held' | undefined
  readonly #byValue: readonly RunningByValue[]
  readonly #keyRates: KeyRates
  #running = 0

  constructor(facts: GateFacts) {
    const { view, queue, heldNames, running } = facts
    this.#facts = facts
    this.#heldNames = new Set(heldNames)
    this.#queueSwitch = this.#strictest(
      view.switches.find('queue', queue.name, view.now),
      queue.settings.obeys.queue,
    )
    this.#byValue = runningByValue(queue.settings.ceilings)
    this.#keyRates = new KeyRates(queue)
    for (const { type, tenant, limit_keys, count } of running) {
      this.#count({ type, tenant, keys: keysOf(queue, limit_keys) }, count)
    }
  }

  /** Reads what the verdict on a kind depends on. */
  *prepare(kind: Kind): Steps<void> {
    if (this.#keyRates.isUnknown(kind)) yield* this.#keyRates.read(this.#facts.view, kind)
  }

  /** Nothing of the queue may be taken, whatever it is. */
  get isHeld(): boolean {
    if (this.#queueSwitch === undefined) return false
    if (this.#queueSwitch === 'held') return true
    // In a FIFO queue one message that cannot be moved keeps its whole group.
    const { queue } = this.#facts
    return queue.settings.type === 'fifo' && !this.#facts.canDivertPlain
  }

  /** How many messages may be taken, whatever they are. */
  get room(): number {
    const { queue, rated, claimed } = this.#facts
    const { running } = queue.settings.ceilings
    return Math.min(
      running === null ? Number.POSITIVE_INFINITY : running - this.#running,
      rated === undefined ? Number.POSITIVE_INFINITY : roomInRate(rated, claimed),
    )
  }

  /** When there will be room again, as far as the rate is concerned. */
  get rateOpensAt(): number {
    const { view, rated, claimed } = this.#facts
    return rated === undefined ? view.now : rateOpensAt(rated, claimed, view.now)
  }

  get isRunningFull(): boolean {
    const { running } = this.#facts.queue.settings.ceilings
    return running !== null && this.#running >= running
  }

  /** Hold goes before divert: what waits can still be diverted, but not the other way round. */
  verdict(kind: Kind): Verdict {
    const found = this.#switchFor(kind)
    if (found === 'held') return 'closed'
    if (found !== undefined) {
      const isPlain = kind.type === null
      return isPlain && !this.#facts.canDivertPlain ? 'closed' : { divertedBy: describe(found) }
    }
    return this.#isRunningFull(kind) || this.#keyRates.isFull(kind) ? 'closed' : 'open'
  }

  /** When a kind that may not be taken may be, if nothing but the passing of time is needed for that. */
  opensAt(kind: Kind): number {
    if (this.#switchFor(kind) !== undefined || this.#isRunningFull(kind)) {
      return Number.POSITIVE_INFINITY
    }
    return this.#keyRates.opensAt(kind, this.#facts.view.now)
  }

  take(kind: Kind, count = 1): void {
    this.#count(kind, count)
    this.#keyRates.add(kind, count)
  }

  /** Whether all of these may be taken together; they are counted if so, and else none of them. */
  takeAll(kinds: readonly Kind[]): boolean {
    const taken: Kind[] = []
    for (const kind of kinds) {
      if (this.verdict(kind) !== 'open') {
        for (const one of taken) {
          this.#count(one, -1)
          this.#keyRates.add(one, -1)
        }
        return false
      }
      this.take(kind)
      taken.push(kind)
    }
    return true
  }

  /** Whether a ceiling is in use that this kind comes under, so that it may have to wait for others. */
  isShared(kind: Kind): boolean {
    const { queue, rated, claimed } = this.#facts
    return (
      (queue.settings.ceilings.running !== null && this.#running > 0) ||
      (rated !== undefined && roomInRate(rated, claimed) < rated.rate.max) ||
      this.#byValue.some((counts) => counts.isUsed(kind)) ||
      this.#keyRates.isUsed(kind)
    )
  }

  /**
   * The bucket for a message that may not be taken. Tenants only have buckets of their own where they are
   * treated apart: buckets are gone through one by one, and there may be very many tenants.
   */
  bucketFor(kind: Kind): string {
    const { view, queue } = this.#facts
    const { switches, now } = view
    const isApart =
      queue.settings.ceilings.runningPerTenant !== null ||
      (kind.tenant !== null && switches.find('tenant', kind.tenant, now) !== undefined)
    return bucketName(isApart ? kind : { ...kind, tenant: null })
  }

  /** Writes down what the rates have to know. */
  *noteClaims(tx: Transaction, count: number): Steps<void> {
    const { rated } = this.#facts
    if (rated !== undefined && count > 0) yield* noteClaims(tx, rated, count)
    yield* this.#keyRates.note(tx)
  }

  #count(kind: RunningKind, count: number): void {
    this.#running += count
    for (const counts of this.#byValue) counts.add(kind, count)
  }

  #isRunningFull(kind: Kind): boolean {
    return this.isRunningFull || this.#byValue.some((counts) => counts.isFull(kind))
  }

  /**
   * The switch that stops this kind of message, if any. A FIFO queue only knows those that stop it as
   * a whole: to pass over a message would break the order of its group.
   */
  #switchFor({ type, tier, tenant }: Kind): SwitchRecord | 'held' | undefined {
    const { view, queue } = this.#facts
    const { switches, now } = view
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
    const { switches, now } = this.#facts.view
    let found = stricter(undefined, first)
    for (const name of names) {
      const named = this.#heldNames.has(name) ? 'held' : switches.find('name', name, now)
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
