/** Checks the arguments of one settlement, as checked-backend.ts does for those of calls. */
import {
  checkLength,
  checkOneOf,
  checkRange,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import type { MillraceError } from '../core/millrace-error.ts'
import { checkFailure, checkLogs } from './attempt-checks.ts'
import type { Outcome, Settlement } from './backend.ts'
import { checkSpendings } from './budget-checks.ts'
import { checkJob } from './checked-job-store.ts'
import { checkCount, refusal } from './checking.ts'
import { checkItems, checkKey } from './collector-checks.ts'
import { checkMarks, checkOpening, checkStart } from './flow-checks.ts'
import type { EmittedFlow } from './flow-store.ts'

export function refuseArguments(settlement: Settlement): MillraceError | undefined {
  const { outcome, emits, jobs, logs, spent } = settlement
  const isBare =
    emits === undefined &&
    jobs === undefined &&
    logs === undefined &&
    spent === undefined &&
    !hasMore(settlement)
  // The common case, which every acknowledgement passes.
  if (outcome.kind === 'acknowledge' && isBare) return undefined
  return refusal((into) => {
    checkOutcome(into, outcome)
    if (emits !== undefined && emits.length > 0) checkCount(into, 'emits', emits)
    if (jobs !== undefined && jobs.length > 0) {
      checkCount(into, 'jobs', jobs)
      for (const { job } of jobs) checkJob(into, job)
    }
    if (logs !== undefined) checkLogs(into, 'logs', logs)
    if (spent !== undefined) checkSpendings(into, spent)
    if (hasMore(settlement)) checkMore(into, settlement)
  })
}

/** Whether there is something that belongs to an acknowledgement and to nothing else. */
function hasMore({ flows, marks, starts, items, batch, within }: Settlement): boolean {
  return (
    flows !== undefined ||
    marks !== undefined ||
    starts !== undefined ||
    items !== undefined ||
    batch !== undefined ||
    within !== undefined
  )
}

function checkMore(into: Violations, settlement: Settlement): void {
  const { outcome, flows = [], marks = [], starts = [], items = [], batch, within } = settlement
  checkOneOf(into, 'outcome.kind', outcome.kind, ['acknowledge'])
  for (const flow of flows) checkOpening(into, flow)
  checkTakeovers(into, flows)
  for (const request of marks) checkMarks(into, request)
  for (const request of starts) checkStart(into, request)
  for (const [index, request] of items.entries()) checkItems(into, `items[${index}].`, request)
  // Plain JavaScript may have put anything there, null included.
  if (batch !== undefined) checkKey(into, 'batch.', Object(batch))
  if (within !== undefined && typeof within !== 'function') {
    into.push({ field: 'within', given: describeGiven(within), allowed: 'a function' })
  }
}

function checkTakeovers(into: Violations, flows: readonly EmittedFlow[]): void {
  const taking = flows.filter(({ takesOver }) => takesOver)
  if (taking.length > 1) {
    const given = `${taking.length} flows`
    into.push({ field: 'flows.takesOver', given, allowed: 'one flow that takes over' })
  }
  if (taking.some(({ parent }) => parent !== undefined)) {
    const allowed = 'no parent: takeOver makes the unit of the delivery the parent'
    into.push({ field: 'flows.parent', given: 'a parent', allowed })
  }
}

function checkOutcome(into: Violations, outcome: Outcome): void {
  checkOneOf(into, 'outcome.kind', outcome.kind, ['acknowledge', 'retry', 'release', 'deadLetter'])
  if (outcome.kind === 'retry') {
    checkRange(into, 'outcome.delayMs', outcome.delayMs, limits.visibilityMs)
    if (outcome.error !== undefined) {
      checkLength(into, 'outcome.error', outcome.error, limits.errorLength)
    }
  }
  if (outcome.kind === 'deadLetter') {
    checkLength(into, 'outcome.reason', outcome.reason, limits.reasonLength)
  }
  if ('failure' in outcome && outcome.failure !== undefined) {
    checkFailure(into, 'outcome.failure', outcome.failure)
  }
}
