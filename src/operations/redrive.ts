/**
 * Moves dead letters back to their source queues, at a rate. The store keeps the progress, and any process
 * that maintains the store continues it.
 */
import type { Backend, MoveTask, MoveTaskFailure, QueueRecord } from '../backends/backend.ts'
import { checkMoveDestination } from '../backends/move-destination.ts'
import { checkRange, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { pause } from '../core/pause.ts'
import type { Timers } from '../core/ports.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import { surveyDeadLetters } from './dead-letters.ts'
import { allQueues } from './list-queues.ts'

export interface RedriveOptions {
  /** Messages per second, 1 to 500. Default: no limit. */
  readonly perSecond?: number
  /** The name in the store of another destination queue. Default: the source queue of each message. */
  readonly to?: string
}

const redriveOptions: OptionNames<RedriveOptions> = { perSecond: true, to: true }

export interface Redrive {
  readonly id: string
  progress(): Promise<MoveTask>
  /** Stops the redrive. Moved messages are not moved back. */
  cancel(): Promise<MoveTask>
  /** Resolves when the redrive ends, successful or not. Aborting ends the wait, not the redrive. */
  finished(options?: { readonly signal?: AbortSignal }): Promise<MoveTask>
}

export interface RedriveSetup {
  readonly backend: Pick<Backend, 'startMoveTask' | 'listMoveTasks' | 'cancelMoveTask'>
  readonly timers: Timers
  /** The dead-letter queue's name in the store. */
  readonly source: string
}

/** Progress is written once per sweep, so a shorter interval shows nothing new. */
const pollMs = 200

/** More than can start between two polls: a source has one task at a time. */
const tasksLooked = 100

export async function redrive(
  { backend, timers, source }: RedriveSetup,
  options: RedriveOptions = {},
): Promise<Redrive> {
  refuseUnknownOptions(options, redriveOptions)
  const { perSecond, to } = options
  const violations: Violations = []
  if (perSecond !== undefined) checkRange(violations, 'perSecond', perSecond, limits.movesPerSecond)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  const { id } = await backend.startMoveTask({
    source,
    ...(to === undefined ? {} : { destination: to }),
    ...(perSecond === undefined ? {} : { movesPerSecond: perSecond }),
  })
  return redriveOf({ backend, timers, source }, id)
}

/** Shorter than in the background, because a person watches the progress. */
const sweepEveryMs = 200

/** Runs maintenance, which moves the messages of a redrive, in case no other process does. */
export function maintainStore(backend: Backend, timers: Timers): AsyncDisposable {
  const sweeper = new Sweeper({ backend, timers, intervalMs: sweepEveryMs })
  sweeper.start()
  return { [Symbol.asyncDispose]: () => sweeper.stop() }
}

/** A redrive that was started earlier, by this or another process. */
export function redriveOf({ backend, timers, source }: RedriveSetup, id: string): Redrive {
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
        if (!isActive(task)) return task
        await pause(timers, pollMs, signal)
      }
    },
  }
}

export function isActive({ status }: MoveTask): boolean {
  return status === 'running' || status === 'cancelling'
}

/** What a redrive would do with the examined dead letters. */
export interface RedrivePlan {
  readonly moves: readonly { readonly to: string; readonly messages: number }[]
  /** Messages that would stay because they have no source queue, by reason. */
  readonly skipped: Readonly<Record<MoveTaskFailure, number>>
  readonly looked_at: number
  readonly complete: boolean
}

export async function planRedrive(
  backend: Pick<Backend, 'peek' | 'listQueues' | 'readQueue' | 'listMoveTasks'>,
  source: string,
  to?: string,
): Promise<RedrivePlan> {
  const queues = await allQueues(backend)
  await checkStart({ backend, queues, source, to })
  const { groups, looked_at, complete } = await surveyDeadLetters(backend, source)
  const names = new Set(queues.map(({ name }) => name))
  const skipped = { queue_not_found: 0, origin_unknown: 0 }
  const byTarget = new Map<string, number>()
  for (const { source: origin, messages } of groups) {
    const target = to ?? origin
    if (target === null) skipped.origin_unknown += messages
    else if (!names.has(target)) skipped.queue_not_found += messages
    else byTarget.set(target, (byTarget.get(target) ?? 0) + messages)
  }
  const moves = [...byTarget].map(([target, messages]) => ({ to: target, messages }))
  return { moves, skipped, looked_at, complete }
}

interface Start {
  readonly backend: Pick<Backend, 'readQueue' | 'listMoveTasks'>
  readonly queues: readonly QueueRecord[]
  readonly source: string
  readonly to: string | undefined
}

/** Throws the same errors as the start of the redrive. */
async function checkStart({ backend, queues, source, to }: Start): Promise<void> {
  const queue = await backend.readQueue({ queue: source })
  if (!queues.some(({ settings }) => settings.deadLetter?.queue === source)) {
    throw new MillraceError('not_a_dead_letter_queue')
  }
  const [latest] = await backend.listMoveTasks({ source, limit: 1 })
  if (latest !== undefined && isActive(latest)) throw new MillraceError('move_task_running')
  if (to !== undefined) checkMoveDestination(queue, await backend.readQueue({ queue: to }))
}
