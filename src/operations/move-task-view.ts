/** Move tasks as all surfaces show them; the names of fields are API. */
import type { MoveTask, MoveTaskFailure, MoveTaskStatus } from '../backends/backend.ts'
import { isoTime } from '../core/iso-time.ts'

export interface MoveTaskView {
  readonly id: string
  readonly source: string
  /** Null: each message goes back to where it died. */
  readonly destination: string | null
  readonly status: MoveTaskStatus
  readonly moved: number
  readonly to_move: number
  /** Messages that stay because they have no queue to go back to, by reason. */
  readonly skipped: Readonly<Record<MoveTaskFailure, number>>
  readonly rate: number | null
  readonly started_at: string
  readonly failure: MoveTaskFailure | null
}

export function moveTaskView(task: MoveTask): MoveTaskView {
  return {
    id: task.id,
    source: task.source,
    destination: task.destination,
    status: task.status,
    moved: task.moved,
    to_move: task.toMove,
    skipped: task.skipped,
    rate: task.movesPerSecond,
    started_at: isoTime(task.startedAt),
    failure: task.failure,
  }
}
