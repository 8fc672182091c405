/** Move tasks as all surfaces show them. Field names are API. */
import type { MoveTask, MoveTaskFailure, MoveTaskStatus } from '../backends/backend.ts'
import { isoTime } from '../core/iso-time.ts'

export interface MoveTaskView {
  readonly id: string
  readonly source: string
  /** Null: each message goes back to its source queue. */
  readonly destination: string | null
  readonly status: MoveTaskStatus
  readonly moved: number
  readonly to_move: number
  /** Messages that stay because they have no source queue, by reason. */
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
