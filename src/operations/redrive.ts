/**
 * Sends dead letters back to where they died, at a rate, while the operator watches or goes away:
 * the store keeps the progress, and any process that has the app open carries it on.
 */
import type { Backend, MoveTask } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { pause } from '../core/pause.ts'
import type { Timers } from '../core/ports.ts'

export interface RedriveOptions {
  /** Messages a second, 1 to 500. Default: as fast as the store can. */
  readonly perSecond?: number
  /** Name on the backend of another queue to send them to. Default: back to where each one died. */
  readonly to?: string
}

export interface Redrive {
  readonly id: string
  progress(): Promise<MoveTask>
  /** Stops it where it is; what was moved stays moved. */
  cancel(): Promise<MoveTask>
  /** Waits for its end, whichever way it ends. Aborting stops the waiting, not the redrive. */
  finished(options?: { readonly signal?: AbortSignal }): Promise<MoveTask>
}

export interface RedriveSetup {
  readonly backend: Pick<Backend, 'startMoveTask' | 'listMoveTasks' | 'cancelMoveTask'>
  readonly timers: Timers
  /** The dead-letter queue's name on the backend. */
  readonly source: string
}

/** Progress is written once per slice of upkeep, so looking more often shows nothing new. */
const lookAgainMs = 200

/** More tasks than this are not begun between two looks: a source has one at a time. */
const tasksLooked = 100

export async function redrive(
  { backend, timers, source }: RedriveSetup,
  { perSecond, to }: RedriveOptions = {},
): Promise<Redrive> {
  const { id } = await backend.startMoveTask({
    source,
    ...(to === undefined ? {} : { destination: to }),
    ...(perSecond === undefined ? {} : { movesPerSecond: perSecond }),
  })
  const progress = async (): Promise<MoveTask> => {
    const tasks = await backend.listMoveTasks({ source, limit: tasksLooked })
    const task = tasks.find((one) => one.id === id)
    if (task === undefined) throw new MillraceError('move_task_not_found')
    return task
  }
  return {
    id,
    progress,
    cancel: () => backend.cancelMoveTask({ id }),
    async finished({ signal } = {}) {
      for (;;) {
        signal?.throwIfAborted()
        const task = await progress()
        if (task.status !== 'running' && task.status !== 'cancelling') return task
        await pause(timers, lookAgainMs, signal)
      }
    },
  }
}
