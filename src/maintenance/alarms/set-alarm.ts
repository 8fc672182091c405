/** Sets the state of an alarm without an evaluation, and sends its notifications. */
import type { AlarmRecord, AlarmStore, AlarmTransition } from '../../backends/alarm-store.ts'
import type { AlarmState } from '../../core/alarm-rule.ts'
import { type AlarmChange, alarmChange } from './alarm-change.ts'
import { alarmNotifications } from './alarm-notifications.ts'

export interface AlarmControl {
  readonly alarms: Pick<AlarmStore, 'now' | 'setAlarmState'>
  readonly onChange: (change: AlarmChange) => void
}

export interface GivenState {
  readonly to: AlarmState
  readonly reason: string
}

/** Resolves with undefined if the alarm is already in that state, or changed in the meantime. */
export async function setAlarm(
  { alarms, onChange }: AlarmControl,
  record: AlarmRecord,
  { to, reason }: GivenState,
): Promise<AlarmTransition | undefined> {
  const { alarm, revision, state: from } = record
  const at = await alarms.now()
  // Sends notifications even if the alarm was never evaluated.
  const notify = alarmNotifications({ ...record, evaluatedAt: at }, { to, reason, at })
  const transition = await alarms.setAlarmState({ alarm, revision, from, to, reason, notify })
  if (transition !== undefined) onChange(alarmChange(record, transition))
  return transition
}

/** Ends an alarm before it is removed, so that receivers of its notification learn that it is over. */
export async function endAlarm(
  control: AlarmControl,
  record: AlarmRecord,
  reason: string,
): Promise<void> {
  if (record.state === 'ALARM') await setAlarm(control, record, { to: 'OK', reason })
}
