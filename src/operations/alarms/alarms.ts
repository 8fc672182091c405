/** What an operator can do with alarms: look at them and their past, evaluate them now, and test them. */

import type { AlarmRecord, AlarmTransition } from '../../backends/alarm-store.ts'
import type { Backend, Page } from '../../backends/backend.ts'
import type { AlarmState } from '../../core/alarm-rule.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../../core/options.ts'
import { supported } from '../../core/supported.ts'
import type { AlarmChange } from '../../maintenance/alarms/alarm-change.ts'
import { AlarmEvaluator } from '../../maintenance/alarms/alarm-evaluator.ts'
import { setAlarm } from '../../maintenance/alarms/set-alarm.ts'

export interface Alarms {
  /** By name. */
  list(): Promise<readonly AlarmRecord[]>
  /** Undefined when there is no such alarm. */
  get(name: string): Promise<AlarmRecord | undefined>
  /** How states changed, newest first; of one alarm, or of all. */
  history(options?: AlarmHistoryOptions): Promise<Page<AlarmTransition>>
  /** Evaluates now what was not evaluated since the last minute ended; answers what changed. */
  evaluate(): Promise<readonly AlarmTransition[]>
  /**
   * Puts an alarm into a state, to see that its actions work. The next evaluation decides again. Undefined
   * when it was in that state already: then nothing happens.
   */
  test(name: string, options: TestAlarmOptions): Promise<AlarmTransition | undefined>
}

export interface AlarmHistoryOptions {
  readonly alarm?: string
  /** 1 to 1000. Default 100. */
  readonly limit?: number
  readonly after?: string
}

export interface TestAlarmOptions {
  readonly state: AlarmState
  /** Who does it, for the record. */
  readonly by: string
  readonly reason?: string
}

const historyOptions: OptionNames<AlarmHistoryOptions> = { alarm: true, limit: true, after: true }
const testOptions: OptionNames<TestAlarmOptions> = { state: true, by: true, reason: true }

export interface AlarmsSetup {
  readonly backend: Pick<Backend, 'alarms' | 'metrics' | 'flows' | 'readQueue'>
  /** Only the alarms of this owner. Default: all of the store. */
  readonly owner?: string
  /** Told of changes. Default: nobody. */
  readonly onChange?: (change: AlarmChange) => void
}

export function createAlarms({ backend, owner, onChange = nobody }: AlarmsSetup): Alarms {
  const ofOwner = owner !== undefined && { owner }
  const evaluator = new AlarmEvaluator({ backend, onChange, ...ofOwner })
  const find = async (name: string): Promise<AlarmRecord | undefined> => {
    const record = await supported(backend.alarms).readAlarm({ alarm: name })
    return owner === undefined || record?.owner === owner ? record : undefined
  }
  return {
    list: async () => supported(backend.alarms).alarmStates({ prefix: '', ...ofOwner }),
    get: find,
    history: async (options = {}) => {
      refuseUnknownOptions(options, historyOptions)
      const { alarm, limit = 100, after } = options
      return supported(backend.alarms).alarmHistory({
        limit,
        ...(alarm !== undefined && { alarm }),
        ...(after !== undefined && { after }),
      })
    },
    evaluate: async () => evaluator.evaluate(),
    test: async (name, options) => {
      refuseUnknownOptions(options, testOptions)
      const { state: to, by, reason = 'to see that it works' } = options
      const record = await find(name)
      if (record === undefined) throw new MillraceError('alarm_not_found')
      const given = { to, reason: `Set by ${by}: ${reason}` }
      return setAlarm({ alarms: supported(backend.alarms), onChange }, record, given)
    },
  }
}

const nobody = (): void => undefined
