/** Checks of arguments about alarms and notifications. */
import { alarmStates } from '../core/alarm-rule.ts'
import { checkOneOf, checkRange, checkText, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import type { AlarmStore, SetAlarmState } from './alarm-store.ts'
import { type Checks, checkPage } from './checking.ts'

export const alarmChecks: Checks<AlarmStore> = {
  now: null,
  declareAlarms: (into, request) => {
    checkText(into, 'owner', request.owner, limits.alarmOwnerLength)
    for (const [index, { name }] of request.rules.entries()) {
      checkText(into, `rules[${index}].name`, name, limits.alarmNameLength)
    }
  },
  alarmStates: null,
  readAlarm: (into, request) => checkText(into, 'alarm', request.alarm, limits.alarmNameLength),
  recordEvaluations: (into, request) => {
    for (const [index, evaluation] of request.evaluations.entries()) {
      checkChange(into, `evaluations[${index}].`, evaluation)
    }
  },
  setAlarmState: (into, request) => checkChange(into, '', request),
  forgetAlarms: null,
  alarmHistory: checkPage,
  takeNotifications: (into, request) => {
    checkRange(into, 'limit', request.limit, limits.pageSize)
    checkRange(into, 'leaseMs', request.leaseMs, limits.visibilityMs)
  },
  settleNotification: (into, request) => {
    checkOneOf(into, 'outcome', request.outcome, ['delivered', 'retry', 'given_up'])
    if (request.outcome === 'delivered') return
    checkText(into, 'error', request.error, limits.errorLength)
    if (request.outcome === 'retry') {
      checkRange(into, 'delayMs', request.delayMs, limits.visibilityMs)
    }
  },
}

function checkChange(into: Violations, prefix: string, { to, reason }: SetAlarmState): void {
  checkOneOf(into, `${prefix}to`, to, alarmStates)
  checkText(into, `${prefix}reason`, reason, limits.alarmReasonLength)
}
