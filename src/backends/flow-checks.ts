/** Checks of arguments about flows. */
import { checkOneOf, checkRange, checkText, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { checkJob } from './checked-job-store.ts'
import { type Checks, checkPage } from './checking.ts'
import type { Emitted } from './emitted.ts'
import type {
  FlowKey,
  FlowStore,
  MarkUnits,
  NewUnit,
  OpenFlow,
  StartUnit,
  UnitKey,
} from './flow-store.ts'

export const flowChecks: Checks<FlowStore> = {
  open: checkOpening,
  add: (into, request) => {
    checkFlowKey(into, '', request)
    checkUnits(into, request.units)
  },
  seal: (into, request) => checkFlowKey(into, '', request),
  mark: checkMarks,
  start: checkStart,
  cancel: (into, request) => checkFlowKey(into, '', request),
  resume: (into, request) => {
    checkUnitKey(into, '', request)
    checkEmitted(into, request.work)
  },
  read: null,
  list: checkPage,
  units: checkPage,
  counts: null,
}

export function checkOpening(into: Violations, request: OpenFlow): void {
  const { deadlineMs, keepMs, parent, data } = request
  checkFlowKey(into, '', request)
  checkUnits(into, request.units)
  checkOneOf(into, 'onUnitFailure', request.onUnitFailure, ['wait', 'fail', 'finalize'])
  checkEmitted(into, request.finalize)
  checkEmitted(into, request.failed)
  if (deadlineMs !== undefined) {
    checkRange(into, 'deadlineMs', deadlineMs, limits.flowDeadlineMs)
  }
  const { onDeadline = 'report' } = request
  checkOneOf(into, 'onDeadline', onDeadline, ['report', 'fail', 'finalize'])
  checkRange(into, 'keepMs', keepMs, limits.flowKeepMs)
  if (parent !== undefined) checkUnitKey(into, 'parent.', parent)
  if (data !== undefined) checkText(into, 'data', data, limits.flowDataLength)
}

export function checkMarks(into: Violations, request: MarkUnits): void {
  checkFlowKey(into, '', request)
  checkRange(into, 'marks: count', request.marks.length, limits.messagesPerCall)
  for (const { unit, state, reason } of request.marks) {
    checkText(into, 'marks.unit', unit, limits.flowIdLength)
    checkOneOf(into, 'marks.state', state, ['done', 'dead'])
    if (reason !== undefined) checkText(into, 'marks.reason', reason, limits.reasonLength)
  }
}

export function checkStart(into: Violations, request: StartUnit): void {
  checkUnitKey(into, '', request)
  checkEmitted(into, request.work)
}

function checkUnits(into: Violations, units: readonly NewUnit[]): void {
  const { max, unit } = limits.messagesPerCall
  checkRange(into, 'units: count', units.length, { min: 0, max, unit })
  for (const { id, work } of units) {
    checkText(into, 'units.id', id, limits.flowIdLength)
    checkEmitted(into, work)
  }
}

/** What depends on the queue is checked by the backend, which knows it. */
function checkEmitted(into: Violations, emission: Emitted | undefined): void {
  if (emission !== undefined && 'job' in emission) checkJob(into, emission.job)
}

function checkFlowKey(into: Violations, prefix: string, { flow, id }: FlowKey): void {
  checkText(into, `${prefix}flow`, flow, limits.flowNameLength)
  checkText(into, `${prefix}id`, id, limits.flowIdLength)
}

function checkUnitKey(into: Violations, prefix: string, key: UnitKey): void {
  checkFlowKey(into, prefix, key)
  checkText(into, `${prefix}unit`, key.unit, limits.flowIdLength)
}
