/** Checks every argument about alarms and notifications, as checked-backend.ts does for messages. */
import { alarmStates } from '../core/alarm-rule.ts'
import { checkOneOf, checkRange, checkText, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import type { AlarmStore, SetAlarmState } from './alarm-store.ts'
import { check } from './checking.ts'

export function checkedAlarmStore(store: AlarmStore): AlarmStore {
  return {
    now: () => store.now(),
    declareAlarms: async (request) => {
      check((into) => {
        checkText(into, 'owner', request.owner, limits.alarmOwnerLength)
        for (const [index, { name }] of request.rules.entries()) {
          checkText(into, `rules[${index}].name`, name, limits.alarmNameLength)
        }
      })
      return store.declareAlarms(request)
    },
    alarmStates: (request) => store.alarmStates(request),
    readAlarm: async (request) => {
      check((into) => checkText(into, 'alarm', request.alarm, limits.alarmNameLength))
      return store.readAlarm(request)
    },
    recordEvaluations: async (request) => {
      check((into) => {
        for (const [index, evaluation] of request.evaluations.entries()) {
          checkChange(into, `evaluations[${index}].`, evaluation)
        }
      })
      return store.recordEvaluations(request)
    },
    setAlarmState: async (request) => {
      check((into) => checkChange(into, '', request))
      return store.setAlarmState(request)
    },
    forgetAlarms: (request) => store.forgetAlarms(request),
    alarmHistory: async (request) => {
      check((into) => checkRange(into, 'limit', request.limit, limits.pageSize))
      return store.alarmHistory(request)
    },
    takeNotifications: async (request) => {
      check((into) => {
        checkRange(into, 'limit', request.limit, limits.pageSize)
        checkRange(into, 'leaseMs', request.leaseMs, limits.visibilityMs)
      })
      return store.takeNotifications(request)
    },
    settleNotification: async (request) => {
      check((into) => {
        checkOneOf(into, 'outcome', request.outcome, ['delivered', 'retry', 'given_up'])
        if (request.outcome === 'delivered') return
        checkText(into, 'error', request.error, limits.errorLength)
        if (request.outcome === 'retry') {
          checkRange(into, 'delayMs', request.delayMs, limits.visibilityMs)
        }
      })
      return store.settleNotification(request)
    },
  }
}

function checkChange(into: Violations, prefix: string, { to, reason }: SetAlarmState): void {
  checkOneOf(into, `${prefix}to`, to, alarmStates)
  checkText(into, `${prefix}reason`, reason, limits.alarmReasonLength)
}
