/** Operations on alarms: list, history, evaluate now, and test. */

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
  /** All alarms, by name. */
  list(): Promise<readonly AlarmRecord[]>
  /** Resolves with undefined if the alarm does not exist. */
  get(name: string): Promise<AlarmRecord | undefined>
  /** State changes of one alarm or of all, newest first. */
  history(options?: AlarmHistoryOptions): Promise<Page<AlarmTransition>>
  /** Evaluates all alarms that were not yet evaluated for the last minute. Resolves with the changes. */
  evaluate(): Promise<readonly AlarmTransition[]>
  /**
   * Sets the state of an alarm until its next evaluation, to test its actions. Does nothing and resolves with
   * undefined if the alarm is already in that state.
   */
  test(name: string, options: TestAlarmOptions): Promise<AlarmTransition | undefined>
}

export interface AlarmHistoryOptions {
  readonly alarm?: string
  /** 1 to 1000. Default: 100. */
  readonly limit?: number
  readonly after?: string
}

export interface TestAlarmOptions {
  readonly state: AlarmState
  /** The person or program, for the history. */
  readonly by: string
  readonly reason?: string
}

const historyOptions: OptionNames<AlarmHistoryOptions> = { alarm: true, limit: true, after: true }
const testOptions: OptionNames<TestAlarmOptions> = { state: true, by: true, reason: true }

export interface AlarmsSetup {
  readonly backend: Pick<Backend, 'alarms' | 'metrics' | 'flows' | 'readQueue'>
  /** Only alarms of this owner. Default: all alarms of the store. */
  readonly owner?: string
  /** Called with each change. */
  readonly onChange?: (change: AlarmChange) => void
}

export function createAlarms({ backend, owner, onChange = ignore }: AlarmsSetup): Alarms {
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
      const { state: to, by, reason = 'test of the actions' } = options
      const record = await find(name)
      if (record === undefined) throw new MillraceError('alarm_not_found')
      const given = { to, reason: `Set by ${by}: ${reason}` }
      return setAlarm({ alarms: supported(backend.alarms), onChange }, record, given)
    },
  }
}

const ignore = (): void => undefined
