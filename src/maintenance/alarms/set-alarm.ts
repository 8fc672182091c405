/** Puts an alarm into a state that no evaluation has found: those who have to hear of it do. */
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

/** Undefined when it is in that state already, or was changed meanwhile. */
export async function setAlarm(
  { alarms, onChange }: AlarmControl,
  record: AlarmRecord,
  { to, reason }: GivenState,
): Promise<AlarmTransition | undefined> {
  const { alarm, revision, state: from } = record
  const at = await alarms.now()
  // It is told in any case, also of an alarm that was never evaluated.
  const notify = alarmNotifications({ ...record, evaluatedAt: at }, { to, reason, at })
  const transition = await alarms.setAlarmState({ alarm, revision, from, to, reason, notify })
  if (transition !== undefined) onChange(alarmChange(record, transition))
  return transition
}

/** Before an alarm is forgotten: whoever heard it ring would wait for its end for ever. */
export async function endAlarm(
  control: AlarmControl,
  record: AlarmRecord,
  reason: string,
): Promise<void> {
  if (record.state === 'ALARM') await setAlarm(control, record, { to: 'OK', reason })
}
