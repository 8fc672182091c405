/** Turns kill switches on and off, and keeps a history of it. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type { Page } from '../../backend.ts'
import type {
  LiftSwitch,
  ListSwitchEvents,
  SetSwitch,
  SwitchEvent,
  SwitchRecord,
  SwitchTarget,
} from '../../switch-store.ts'
import { numberedPage, numberOf } from '../driver/numbered-pages.ts'
import { change, query, upTo } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'

/** Messages of a queue that are checked before all of it is diverted. */
const lookedAt = 1_000

const sql = {
  set: change(`
    INSERT OR REPLACE INTO kill_switch (scope, value, mode, by, note, set_at, until)
    VALUES (?, ?, ?, ?, ?, ?, ?)`),
  remove: change('DELETE FROM kill_switch WHERE scope = ? AND value = ?'),
  note: change(`
    INSERT INTO kill_switch_event (scope, value, event, mode, by, note, at, until)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
  events: query<SwitchEvent & { readonly number: number }>(`
    SELECT number, scope, value, event, mode, by, note, at, until FROM kill_switch_event
    WHERE number < ? ORDER BY number DESC ${upTo}`),
  oldestKinds: query<{ is_job: 0 | 1 }>(`
    SELECT job_type IS NOT NULL AS is_job FROM message INDEXED BY message_ready
    WHERE generation = ? AND state = 0 ORDER BY sequence LIMIT ${lookedAt}`),
}

export function setSwitch(tx: StoreTransaction, request: SetSwitch): SwitchRecord {
  const { scope, value, mode, by, note = null, forMs } = request
  if (scope === 'queue') refuseQueueSwitch(tx, request)
  const until = forMs === undefined ? null : tx.now + forMs
  return turnOn(tx, { scope, value, mode, by, note, setAt: tx.now, until })
}

/** Turns a switch on and records it; the request was checked before. */
export function turnOn(tx: StoreTransaction, record: SwitchRecord): SwitchRecord {
  liftExpired(tx)
  const { scope, value, mode, by, note, setAt, until } = record
  tx.run(sql.set, scope, value, mode, by, note, setAt, until)
  noteEvent(tx, { scope, value, event: 'set', mode, by, note, at: setAt, until })
  tx.queuesChanged()
  return record
}

export function liftSwitch(tx: StoreTransaction, request: LiftSwitch): boolean {
  liftExpired(tx)
  const { scope, value, by, note = null } = request
  if (tx.session.queues.switches.find(scope, value, tx.now) === undefined) return false
  turnOff(tx, request, { by, note, at: tx.now })
  return true
}

/** Removes switches whose time is over, and records it; returns how many. */
export function liftExpired(tx: StoreTransaction): number {
  const expired = tx.session.queues.switches.expired(tx.now)
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
  tx.run(sql.remove, scope, value)
  noteEvent(tx, { scope, value, event: 'lifted', mode: null, by, note, at, until: null })
  tx.queuesChanged()
}

function noteEvent(tx: StoreTransaction, event: SwitchEvent): void {
  const { scope, value, mode, by, note, at, until } = event
  tx.run(sql.note, scope, value, event.event, mode, by, note, at, until)
}

/** Switches that are on. */
export function listSwitches({ session, now }: StoreView): readonly SwitchRecord[] {
  return session.queues.switches.on(now)
}

export function switchEvents(view: StoreView, request: ListSwitchEvents): Page<SwitchEvent> {
  const { after, limit } = request
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const rows = view.all(sql.events, before, limit + 1)
  return numberedPage(rows, limit, ({ number: _, ...event }) => event)
}

/**
 * Without a dead-letter queue, plain messages cannot be diverted and would be held instead. So `divert` is
 * refused where the oldest messages are plain ones.
 */
function refuseQueueSwitch(tx: StoreTransaction, { value, mode }: SetSwitch): void {
  const queue = tx.queue(value)
  if (mode !== 'divert' || queue.settings.deadLetter !== null) return
  const kinds = tx.all(sql.oldestKinds, queue.generation)
  if (kinds.some(({ is_job }) => is_job === 0)) throw new MillraceError('dead_letter_missing')
}
