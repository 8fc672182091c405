/** Alarms and their states. A change compares the revision and state that the caller has read. */

import type {
  AlarmEvaluation,
  AlarmRecord,
  AlarmTransition,
  DeclareAlarms,
  ListAlarms,
  SetAlarmState,
} from '../../backends/alarm-store.ts'
import { alarmMetrics } from '../../core/alarm-metrics.ts'
import type { AlarmState } from '../../core/alarm-rule.ts'
import { canonicalJson } from '../../core/canonical-json.ts'
import { change, orReplace, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { noteTransition } from './alarm-history.ts'
import { addNotifications } from './notifications.ts'

const columns =
  'name, owner, rule, revision, state, reason, since, evaluated_at, declared_at, replaced'

const sql = {
  list: query<AlarmRow>(`SELECT ${columns} FROM alarm ORDER BY name`),
  listOfOwner: query<AlarmRow>(`SELECT ${columns} FROM alarm WHERE owner = ? ORDER BY name`),
  find: query<AlarmRow>(`SELECT ${columns} FROM alarm WHERE name = ?`),
  begin: change(`
    INSERT INTO alarm (
      name, owner, rule, revision, reason, since, declared_at, evaluated_at, replaced, state
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'INSUFFICIENT_DATA')
    ${orReplace('name', 'owner, rule, revision, reason, since, declared_at, evaluated_at, replaced, state')}`),
  renew: change('UPDATE alarm SET owner = ?, declared_at = ? WHERE name = ?'),
  forget: change('DELETE FROM alarm WHERE name = ? AND owner = ?'),
  forgetRevision: change('DELETE FROM alarm WHERE name = ? AND revision = ?'),
  evaluate: change(`
    UPDATE alarm SET
      since = CASE WHEN state = ? THEN since ELSE ? END, state = ?, reason = ?, evaluated_at = ?
    WHERE name = ? AND revision = ? AND state = ? AND coalesce(evaluated_at, 0) < ?`),
  set: change(`
    UPDATE alarm SET state = ?, reason = ?, since = ?
    WHERE name = ? AND revision = ? AND state = ?`),
}

interface AlarmRow {
  readonly name: string
  readonly owner: string
  readonly rule: string
  readonly revision: number
  readonly state: AlarmState
  readonly reason: string
  readonly since: number
  readonly evaluated_at: number | null
  readonly declared_at: number
  readonly replaced: string
}

const declared = 'Declared; not evaluated yet.'
const declaredAnew = 'Declared anew; not evaluated yet.'

export function* declareAlarms(tx: Transaction, request: DeclareAlarms): Steps<void> {
  yield* tx.lock('alarms')
  const { owner, rules, yields = false, abandonedAfterMs = 0, withdrawn = [] } = request
  const isAlive = (row: AlarmRow): boolean => row.declared_at > tx.now - abandonedAfterMs
  for (const rule of rules) {
    const text = canonicalJson(JSON.stringify(rule))
    const found = yield* tx.one(sql.find, rule.name)
    if (found === undefined) {
      yield* tx.run(sql.begin, rule.name, owner, text, 1, declared, tx.now, tx.now, null, '[]')
    } else if (found.owner !== owner && yields) {
      continue
    } else if (found.rule === text) {
      if (found.owner === owner && abandonedAfterMs === 0) continue
      yield* tx.run(sql.renew, owner, tx.now, rule.name)
    } else {
      const replaced: readonly string[] = isAlive(found) ? JSON.parse(found.replaced) : []
      if (replaced.includes(text)) continue
      yield* restartAlarm(tx, found, {
        owner,
        text,
        replaced: [...replaced, found.rule].slice(-replacedMax),
      })
    }
    tx.wroteRow()
  }
  const names = new Set(rules.map(({ name }) => name))
  for (const row of yield* tx.all(sql.listOfOwner, owner)) {
    if (names.has(row.name) || (isAlive(row) && !withdrawn.includes(row.name))) continue
    if (yield* tx.changed(sql.forget, row.name, owner)) tx.wroteRow()
  }
}

/** More versions than this do not run side by side. */
const replacedMax = 10

interface NewRule {
  readonly owner: string
  readonly text: string
  readonly replaced: readonly string[]
}

/** Evaluations of the old rule do not count for the new one. */
function* restartAlarm(
  tx: Transaction,
  { name, revision, state, evaluated_at }: AlarmRow,
  { owner, text, replaced }: NewRule,
): Steps<void> {
  const { now } = tx
  const evaluatedAt = state === 'ALARM' ? evaluated_at : null
  const before = JSON.stringify(replaced)
  yield* tx.run(
    sql.begin,
    name,
    owner,
    text,
    revision + 1,
    declaredAnew,
    now,
    now,
    evaluatedAt,
    before,
  )
  if (state === 'INSUFFICIENT_DATA') return
  const to = 'INSUFFICIENT_DATA'
  yield* noteTransition(tx, { alarm: name, from: state, to, reason: declaredAnew, at: now })
}

export function* listAlarms(
  view: View,
  { prefix, owner }: ListAlarms,
): Steps<readonly AlarmRecord[]> {
  const rows =
    owner === undefined ? yield* view.all(sql.list) : yield* view.all(sql.listOfOwner, owner)
  return rows.filter(({ name }) => name.startsWith(prefix)).map(recordOf)
}

export function* readAlarm(
  view: View,
  { alarm }: Pick<AlarmRecord, 'alarm'>,
): Steps<AlarmRecord | undefined> {
  const row = yield* view.one(sql.find, alarm)
  return row && recordOf(row)
}

function recordOf(row: AlarmRow): AlarmRecord {
  const { name: alarm, owner, rule, revision, state, reason, since } = row
  const parsed: AlarmRecord['rule'] = JSON.parse(rule)
  const times = { since, evaluatedAt: row.evaluated_at, declaredAt: row.declared_at }
  return { alarm, owner, rule: parsed, revision, state, reason, ...times }
}

export function* recordEvaluations(
  tx: Transaction,
  { evaluations }: { readonly evaluations: readonly AlarmEvaluation[] },
): Steps<readonly AlarmTransition[]> {
  const transitions: AlarmTransition[] = []
  for (const evaluation of evaluations) {
    const { alarm, revision, from, to, reason, evaluatedAt } = evaluation
    const written = [to, tx.now, to, reason, evaluatedAt]
    if (!(yield* tx.changed(sql.evaluate, ...written, alarm, revision, from, evaluatedAt))) continue
    tx.wroteRow()
    if (to !== from) transitions.push(yield* recordTransition(tx, evaluation))
  }
  return transitions
}

export function* setAlarmState(
  tx: Transaction,
  request: SetAlarmState,
): Steps<AlarmTransition | undefined> {
  const { alarm, revision, from, to, reason } = request
  if (to === from) return undefined
  if (!(yield* tx.changed(sql.set, to, reason, tx.now, alarm, revision, from))) return undefined
  return yield* recordTransition(tx, request)
}

export function* forgetAlarms(
  tx: Transaction,
  { alarms }: { readonly alarms: readonly Pick<AlarmRecord, 'alarm' | 'revision'>[] },
): Steps<void> {
  for (const { alarm, revision } of alarms) {
    const { metric, of } = (yield* readAlarm(tx, { alarm }))?.rule ?? {}
    const isOfQueue = metric !== undefined && alarmMetrics[metric].of === 'queue'
    if (isOfQueue && of !== undefined && (yield* tx.findQueue(of)) !== undefined) continue
    if (yield* tx.changed(sql.forgetRevision, alarm, revision)) tx.wroteRow()
  }
}

/** The rest of a change of state, in its own commit. */
function* recordTransition(tx: Transaction, change: SetAlarmState): Steps<AlarmTransition> {
  const { alarm, from, to, reason, notify } = change
  const transition = { alarm, from, to, reason, at: tx.now }
  yield* noteTransition(tx, transition)
  yield* addNotifications(tx, alarm, notify)
  return transition
}
