/** The parts of the port whose methods are one rule each: which rule a method runs, and how. */

import type { AlarmStore } from '../backends/alarm-store.ts'
import type { BudgetStore } from '../backends/budget-store.ts'
import type { CollectorStore } from '../backends/collector-store.ts'
import type { FlowStore } from '../backends/flow-store.ts'
import type { InboxStore } from '../backends/inbox-store.ts'
import type { KeyStore } from '../backends/key-store.ts'
import type { ScheduleStore } from '../backends/schedule-store.ts'
import type { StackStore } from '../backends/stack-store.ts'
import type { SwitchStore } from '../backends/switch-store.ts'
import { listTransitions } from './alarms/alarm-history.ts'
import {
  declareAlarms,
  forgetAlarms,
  listAlarms,
  readAlarm,
  recordEvaluations,
  setAlarmState,
} from './alarms/alarm-states.ts'
import { settleNotification, takeNotifications } from './alarms/notifications.ts'
import {
  declareBudgets,
  listBudgets,
  listResets,
  readBudget,
  resetBudget,
  spendBudget,
} from './budgets/budgets.ts'
import { beginBatch } from './collectors/batches.ts'
import { addItems, flushKey } from './collectors/collecting.ts'
import { listKeys, readKey } from './collectors/collector-reading.ts'
import { repairKeys } from './collectors/collector-repair.ts'
import { cancelFlow, markUnits, resumeFlow, startUnit } from './flows/flow-control.ts'
import { countFlows, listFlows, listUnits } from './flows/flow-listing.ts'
import { addUnits, openFlow, sealFlow } from './flows/flow-opening.ts'
import { readFlow } from './flows/flow-rows.ts'
import {
  inboxHistory,
  noteOnMessage,
  readInboxMessage,
  releaseMessage,
  renewClaim,
  resolveMessage,
} from './inbox/inbox.ts'
import { claimMessage } from './inbox/inbox-claiming.ts'
import { listInboxes } from './inbox/inbox-events.ts'
import { countInboxMessages, listInboxMessages } from './inbox/inbox-listing.ts'
import { addKey, listKeys as listEncryptionKeys, removeKey } from './keys/keys.ts'
import { rewriteTexts } from './keys/rewriting.ts'
import { adds, changes, type Operations, reads } from './operations.ts'
import { findSchedule } from './schedules/schedule-rows.ts'
import {
  ensureSchedule,
  listSchedules,
  pauseSchedule,
  renewSchedules,
  resumeSchedule,
} from './schedules/schedules.ts'
import { removeSchedule, setSchedules } from './schedules/setting-schedules.ts'
import { dueSchedules, reportUnserved, runScheduleNow, tickSchedules } from './schedules/ticking.ts'
import { listStacks, readStack, writeStack } from './stacks/stacks.ts'
import { Answer } from './steps.ts'
import { liftSwitch, listSwitches, setSwitch, switchEvents } from './switches/switches.ts'

export const alarmOperations: Operations<AlarmStore> = {
  now: reads(({ now }) => new Answer(now)),
  declareAlarms: changes(declareAlarms),
  alarmStates: reads(listAlarms),
  readAlarm: reads(readAlarm),
  recordEvaluations: changes(recordEvaluations),
  setAlarmState: changes(setAlarmState),
  forgetAlarms: changes(forgetAlarms),
  alarmHistory: reads(listTransitions),
  takeNotifications: changes(takeNotifications),
  settleNotification: changes(settleNotification),
}

export const budgetOperations: Operations<BudgetStore> = {
  declare: changes(declareBudgets),
  spend: changes(spendBudget),
  reset: changes(resetBudget),
  read: reads(readBudget),
  list: reads(listBudgets),
  resets: reads(listResets),
}

export const collectorOperations: Operations<CollectorStore> = {
  add: adds(addItems),
  begin: changes(beginBatch),
  read: reads(readKey),
  list: reads(listKeys),
  flush: changes(flushKey),
  repair: changes(repairKeys),
}

export const flowOperations: Operations<FlowStore> = {
  open: adds(openFlow),
  add: adds(addUnits),
  seal: changes(sealFlow),
  mark: changes(markUnits),
  start: adds(startUnit),
  cancel: changes(cancelFlow),
  resume: adds(resumeFlow),
  read: reads(readFlow),
  list: reads(listFlows),
  units: reads(listUnits),
  counts: reads(countFlows),
}

/** Reads run in a transaction too: they end lapsed claims first, so that no past claim is shown. */
export const inboxOperations: Operations<InboxStore> = {
  list: changes(listInboxMessages),
  counts: changes(countInboxMessages),
  read: changes(readInboxMessage),
  claim: changes(claimMessage),
  renew: changes(renewClaim),
  note: changes(noteOnMessage),
  resolve: changes(resolveMessage),
  release: changes(releaseMessage),
  history: changes(inboxHistory),
  used: reads(listInboxes),
}

export const keyOperations: Operations<Omit<KeyStore, 'sealing'>> = {
  list: reads(listEncryptionKeys),
  add: changes(addKey),
  remove: changes(removeKey),
  rewrite: changes(rewriteTexts),
}

export const scheduleOperations: Operations<ScheduleStore> = {
  now: reads(({ wallMs }) => new Answer(wallMs)),
  ensure: changes(ensureSchedule),
  set: changes(setSchedules),
  remove: changes(removeSchedule),
  due: reads(dueSchedules),
  tick: adds(tickSchedules),
  runNow: adds(runScheduleNow),
  pause: changes(pauseSchedule),
  resume: changes(resumeSchedule),
  read: reads(findSchedule),
  list: reads(listSchedules),
  renew: changes(renewSchedules),
  reportUnserved: changes(reportUnserved),
}

export const stackOperations: Operations<StackStore> = {
  read: reads(readStack),
  list: reads(listStacks),
  write: changes(writeStack),
}

export const switchOperations: Operations<SwitchStore> = {
  set: changes(setSwitch),
  lift: changes(liftSwitch),
  list: reads(listSwitches),
  history: reads(switchEvents),
}
