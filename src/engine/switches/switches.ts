/** Turns kill switches on and off, and keeps a history of it. */

import type { Page } from '../../backends/backend.ts'
import type {
  LiftSwitch,
  ListSwitchEvents,
  SetSwitch,
  SwitchEvent,
  SwitchRecord,
  SwitchTarget,
} from '../../backends/switch-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { numberedPage, numberOf } from '../numbered-pages.ts'
import { change, orReplace, query, upTo } from '../statements.ts'
import { Answer, type Step, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

/** Messages of a queue that are checked before all of it is diverted. */
const lookedAt = 1_000

const sql = {
  set: change(`
    INSERT INTO kill_switch (scope, value, mode, by, note, set_at, until)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ${orReplace('scope, value', 'mode, by, note, set_at, until')}`),
  remove: change('DELETE FROM kill_switch WHERE scope = ? AND value = ?'),
  note: change(`
    INSERT INTO kill_switch_event (scope, value, event, mode, by, note, at, until)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
  events: query<SwitchEvent & { readonly number: number }>(`
    SELECT number, scope, value, event, mode, by, note, at, until FROM kill_switch_event
    WHERE number < ? ORDER BY number DESC ${upTo}`),
  oldestKinds: query<{ is_job: 0 | 1 }>(`
    SELECT job_type IS NOT NULL AS is_job FROM message /*sqlite INDEXED BY message_ready */
    WHERE generation = ? AND state = 0 ORDER BY sequence LIMIT ${lookedAt}`),
}

export function* setSwitch(tx: Transaction, request: SetSwitch): Steps<SwitchRecord> {
  const { scope, value, mode, by, note = null, forMs } = request
  if (scope === 'queue') yield* refuseQueueSwitch(tx, request)
  const until = forMs === undefined ? null : tx.now + forMs
  return yield* turnOn(tx, { scope, value, mode, by, note, setAt: tx.now, until })
}

/** Turns a switch on and records it; the request was checked before. */
export function* turnOn(tx: Transaction, record: SwitchRecord): Steps<SwitchRecord> {
  yield* tx.lock('switches')
  yield* liftExpired(tx)
  const { scope, value, mode, by, note, setAt, until } = record
  yield* tx.run(sql.set, scope, value, mode, by, note, setAt, until)
  yield* noteEvent(tx, { scope, value, event: 'set', mode, by, note, at: setAt, until })
  yield* tx.queuesChanged()
  return record
}

export function* liftSwitch(tx: Transaction, request: LiftSwitch): Steps<boolean> {
  yield* tx.lock('switches')
  yield* liftExpired(tx)
  const { scope, value, by, note = null } = request
  if (tx.switches.find(scope, value, tx.now) === undefined) return false
  yield* turnOff(tx, request, { by, note, at: tx.now })
  return true
}

/** Removes switches whose time is over, and records it; returns how many. */
export function* liftExpired(tx: Transaction): Steps<number> {
  const expired = tx.switches.expired(tx.now)
  for (const target of expired) {
    yield* turnOff(tx, target, { by: 'clock', note: null, at: target.until ?? tx.now })
  }
  return expired.length
}

function* turnOff(
  tx: Transaction,
  { scope, value }: SwitchTarget,
  { by, note, at }: { readonly by: string; readonly note: string | null; readonly at: number },
): Steps<void> {
  yield* tx.run(sql.remove, scope, value)
  yield* noteEvent(tx, { scope, value, event: 'lifted', mode: null, by, note, at, until: null })
  yield* tx.queuesChanged()
}

function* noteEvent(tx: Transaction, event: SwitchEvent): Steps<void> {
  const { scope, value, mode, by, note, at, until } = event
  yield* tx.run(sql.note, scope, value, event.event, mode, by, note, at, until)
}

/** Switches that are on. */
export function listSwitches({ switches, now }: View): Step<readonly SwitchRecord[]> {
  return new Answer(switches.on(now))
}

export function* switchEvents(view: View, request: ListSwitchEvents): Steps<Page<SwitchEvent>> {
  const { after, limit } = request
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const rows = yield* view.all(sql.events, before, limit + 1)
  return numberedPage(rows, limit, ({ number: _, ...event }) => event)
}

/**
 * Without a dead-letter queue, plain messages cannot be diverted and would be held instead. So `divert` is
 * refused where the oldest messages are plain ones.
 */
function* refuseQueueSwitch(tx: Transaction, { value, mode }: SetSwitch): Steps<void> {
  const queue = yield* tx.queue(value)
  if (mode !== 'divert' || queue.settings.deadLetter !== null) return
  const kinds = yield* tx.all(sql.oldestKinds, queue.generation)
  if (kinds.some(({ is_job }) => is_job === 0)) throw new MillraceError('dead_letter_missing')
}
