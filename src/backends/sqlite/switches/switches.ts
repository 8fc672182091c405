/**
 * Kill switches: which of them are on, as one process sees it, and turning them on and off. Claims
 * ask for them at every message, so they are cached like the topology and under the same version.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Page } from '../../backend.ts'
import type {
  LiftSwitch,
  ListSwitchEvents,
  SetSwitch,
  SwitchEvent,
  SwitchMode,
  SwitchRecord,
  SwitchScope,
  SwitchTarget,
} from '../../switch-store.ts'
import { numberedPage, numberOf } from '../driver/numbered-pages.ts'
import { allRows, upTo } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'

export interface SwitchStatements {
  readonly set: StatementSync
  readonly remove: StatementSync
  readonly note: StatementSync
  readonly events: StatementSync
  readonly oldestKinds: StatementSync
}

export function prepareSwitches(db: DatabaseSync): SwitchStatements {
  return {
    set: db.prepare(`
      INSERT OR REPLACE INTO kill_switch (scope, value, mode, by, note, set_at, until)
      VALUES (?, ?, ?, ?, ?, ?, ?)`),
    remove: db.prepare('DELETE FROM kill_switch WHERE scope = ? AND value = ?'),
    note: db.prepare(`
      INSERT INTO kill_switch_event (scope, value, event, mode, by, note, at, until)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
    events: db.prepare(`
      SELECT number, scope, value, event, mode, by, note, at, until FROM kill_switch_event
      WHERE number < ? ORDER BY number DESC ${upTo}`),
    oldestKinds: db.prepare(`
      SELECT job_type IS NOT NULL AS is_job FROM message INDEXED BY message_ready
      WHERE generation = ? AND state = 0 ORDER BY sequence LIMIT ${lookedAt}`),
  }
}

/** Messages of a queue that are looked at before everything in it is diverted. */
const lookedAt = 1_000

interface SwitchRow {
  readonly scope: SwitchScope
  readonly value: string
  readonly mode: SwitchMode
  readonly by: string
  readonly note: string | null
  readonly set_at: number
  readonly until: number | null
}

/** The switches in the store. One whose time is over counts as off, swept away or not. */
export class SwitchBoard {
  readonly #read: StatementSync
  #switches: ReadonlyMap<string, SwitchRecord> | undefined

  constructor(db: DatabaseSync) {
    this.#read = db.prepare('SELECT * FROM kill_switch ORDER BY scope, value')
  }

  forget(): void {
    this.#switches = undefined
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  find(scope: SwitchScope, value: string, now: number): SwitchRecord | undefined {
    const found = this.#all.get(keyOf(scope, value))
    return found !== undefined && isOn(found, now) ? found : undefined
  }

  on(now: number): readonly SwitchRecord[] {
    return [...this.#all.values()].filter((one) => isOn(one, now))
  }

  expired(now: number): readonly SwitchRecord[] {
    return [...this.#all.values()].filter((one) => !isOn(one, now))
  }

  /** When the next switch turns itself off. */
  nextEnd(now: number): number {
    return Math.min(...this.on(now).map(({ until }) => until ?? Number.POSITIVE_INFINITY))
  }

  get #all(): ReadonlyMap<string, SwitchRecord> {
    this.#switches ??= new Map(
      allRows<SwitchRow>(this.#read).map(({ set_at: setAt, ...row }) => [
        keyOf(row.scope, row.value),
        { ...row, setAt },
      ]),
    )
    return this.#switches
  }
}

function keyOf(scope: SwitchScope, value: string): string {
  return `${scope}:${value}`
}

function isOn({ until }: SwitchRecord, now: number): boolean {
  return until === null || until > now
}

export function setSwitch(tx: StoreTransaction, request: SetSwitch): SwitchRecord {
  const { scope, value, mode, by, note = null, forMs } = request
  if (scope === 'queue') refuseQueueSwitch(tx, request)
  const until = forMs === undefined ? null : tx.now + forMs
  return turnOn(tx, { scope, value, mode, by, note, setAt: tx.now, until })
}

/** Turns a switch on and writes it down; whoever asks has been checked already. */
export function turnOn(tx: StoreTransaction, record: SwitchRecord): SwitchRecord {
  liftExpired(tx)
  const { scope, value, mode, by, note, setAt, until } = record
  tx.session.switches.set.run(scope, value, mode, by, note, setAt, until)
  noteEvent(tx, { scope, value, event: 'set', mode, by, note, at: setAt, until })
  tx.topologyChanged()
  return record
}

export function liftSwitch(tx: StoreTransaction, request: LiftSwitch): boolean {
  liftExpired(tx)
  const { scope, value, by, note = null } = request
  if (tx.session.topology.switches.find(scope, value, tx.now) === undefined) return false
  turnOff(tx, request, { by, note, at: tx.now })
  return true
}

/** Takes switches out whose time is over, and writes that down; the answer is how many. */
export function liftExpired(tx: StoreTransaction): number {
  const expired = tx.session.topology.switches.expired(tx.now)
  for (const target of expired) {
    turnOff(tx, target, { by: 'clock', note: null, at: target.until ?? tx.now })
  }
  return expired.length
}

function turnOff(
  tx: StoreTransaction,
  { scope, value }: SwitchTarget,
  { by, note, at }: { readonly by: string; readonly note: string | null; readonly at: number },
): void {
  tx.session.switches.remove.run(scope, value)
  noteEvent(tx, { scope, value, event: 'lifted', mode: null, by, note, at, until: null })
  tx.topologyChanged()
}

function noteEvent(tx: StoreTransaction, event: SwitchEvent): void {
  const { scope, value, mode, by, note, at, until } = event
  tx.session.switches.note.run(scope, value, event.event, mode, by, note, at, until)
}

export function switchEvents(session: Session, request: ListSwitchEvents): Page<SwitchEvent> {
  const { after, limit } = request
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const { events } = session.switches
  const rows = allRows<SwitchEvent & { readonly number: number }>(events, before, limit + 1)
  return numberedPage(rows, limit, ({ number: _, ...event }) => event)
}

/**
 * Plain messages have nowhere to go without a dead-letter queue, and would be held instead. Whoever
 * asks for the one must not get the other; a look at the oldest messages tells what the queue is for.
 */
function refuseQueueSwitch(tx: StoreTransaction, { value, mode }: SetSwitch): void {
  const queue = tx.queue(value)
  if (mode !== 'divert' || queue.settings.deadLetter !== null) return
  const kinds = allRows<{ is_job: 0 | 1 }>(tx.session.switches.oldestKinds, queue.generation)
  if (kinds.some(({ is_job }) => is_job === 0)) throw new MillraceError('dead_letter_missing')
}
