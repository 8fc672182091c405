/** Flows and their units as all surfaces show them. Field names are API. */
import type { FlowRecord, UnitRecord } from '../backends/flow-store.ts'
import { isoTime } from '../core/iso-time.ts'

export interface FlowView
  extends Pick<FlowRecord, 'flow' | 'id' | 'status' | 'units' | 'failure' | 'parent' | 'spent'> {
  readonly sealed: boolean
  readonly overdue: boolean
  readonly opened_at: string
  readonly ended_at: string | null
  readonly deadline_at: string | null
}

export interface UnitView extends Pick<UnitRecord, 'unit' | 'state' | 'reason'> {
  readonly started: boolean
  readonly message_id: string | null
  readonly marked_at: string | null
}

/** Leaves out the data that the caller keeps with a flow, which may be a payload. */
export function flowView(shown: FlowRecord): FlowView {
  const { flow, id, status, units, failure, parent, spent } = shown
  return {
    flow,
    id,
    status,
    sealed: shown.isSealed,
    units,
    failure,
    parent,
    spent,
    overdue: shown.isOverdue,
    opened_at: isoTime(shown.openedAt),
    ended_at: isoTime(shown.endedAt),
    deadline_at: isoTime(shown.deadlineAt),
  }
}

export function unitView(shown: UnitRecord): UnitView {
  const { unit, state, reason, isStarted, messageId, markedAt } = shown
  const marked_at = isoTime(markedAt)
  return { unit, state, reason, started: isStarted, message_id: messageId, marked_at }
}
