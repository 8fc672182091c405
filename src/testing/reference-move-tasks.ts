/** The move tasks of the reference model. */
import type { MoveTask, MoveTaskFailure, StartMoveTask } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'
import {
  inState,
  isLocked,
  type ModelQueue,
  type Mutable,
  movedMessage,
  queueNamed,
  remove,
  requireQueue,
} from './reference-queue.ts'

/** What the tasks need to know of the model that they are part of. */
export interface MoveTaskSurroundings {
  readonly queues: readonly ModelQueue[]
  now(): number
  lastSequence(): number
  nextIdentity(): { readonly id: string; readonly sequence: number }
}

interface ModelMoveTask {
  readonly task: Mutable<MoveTask>
  readonly queueId: number
  readonly sequenceMax: number
  /** The rate counts from here. */
  pacedFrom: number
  /** The sequence number of the last skipped message. */
  passed: number
}

export class ReferenceMoveTasks {
  readonly #model: MoveTaskSurroundings
  readonly #tasks: ModelMoveTask[] = []

  constructor(model: MoveTaskSurroundings) {
    this.#model = model
  }

  start({ source, destination, movesPerSecond }: StartMoveTask): MoveTask {
    const { queues } = this.#model
    const queue = requireQueue(queues, source)
    const isTarget = queues.some(({ record }) => record.settings.deadLetter?.queue === source)
    if (!isTarget) throw new MillraceError('not_a_dead_letter_queue')
    const isBusy = this.#tasks.some(({ queueId, task }) => queueId === queue.id && isActive(task))
    if (isBusy) throw new MillraceError('move_task_running')
    if (destination !== undefined) {
      const target = requireQueue(queues, destination)
      const sameType = target.record.settings.type === queue.record.settings.type
      if (target === queue || !sameType) throw new MillraceError('invalid_argument')
    }
    const task: MoveTask = {
      id: `task-${this.#tasks.length + 1}`,
      source,
      destination: destination ?? null,
      movesPerSecond: movesPerSecond ?? null,
      status: 'running',
      startedAt: this.#model.now(),
      moved: 0,
      toMove: inState(queue, 'ready').length,
      skipped: { queue_not_found: 0, origin_unknown: 0 },
      failure: null,
    }
    const sequenceMax = this.#model.lastSequence()
    const pacedFrom = task.startedAt
    this.#tasks.push({ task: { ...task }, queueId: queue.id, sequenceMax, pacedFrom, passed: 0 })
    return task
  }

  cancel(id: string): MoveTask {
    const found = this.#tasks.find(({ task }) => task.id === id && task.status === 'running')
    if (found === undefined) throw new MillraceError('move_task_not_found')
    found.task.status = 'cancelling'
    return { ...found.task }
  }

  /** Newest first. */
  list(source: string): readonly MoveTask[] {
    const own = this.#tasks.filter(({ task }) => task.source === source)
    return own.map(({ task }) => ({ ...task })).reverse()
  }

  /** Does all that the tasks may do at this moment. */
  carryOn(): void {
    for (const entry of this.#tasks) {
      if (entry.task.status === 'cancelling') entry.task.status = 'cancelled'
      if (entry.task.status === 'running') this.#move(entry)
    }
  }

  #move(entry: ModelMoveTask): void {
    const { task, queueId, sequenceMax } = entry
    const { queues } = this.#model
    const source = queues.find(({ id }) => id === queueId)
    if (source === undefined) {
      fail(task)
      return
    }
    const allowed = this.#allowed(entry)
    while (task.moved < allowed) {
      const left = inState(source, 'ready').filter(
        ({ sequence }) => sequence > entry.passed && sequence <= sequenceMax,
      )
      const next = left.find((message) => !isLocked(source, message))
      if (next === undefined) {
        if (left.length === 0) end(task)
        return
      }
      const destination = task.destination ?? next.deadLetterOrigin?.source
      const target = destination === undefined ? undefined : queueNamed(queues, destination)
      if (target !== undefined) {
        remove(source, next)
        const now = this.#model.now()
        const identity = { ...this.#model.nextIdentity(), sentAt: now, keptFrom: now }
        target.messages.push(movedMessage(next, identity))
        task.moved += 1
      } else if (task.destination === null) {
        const reason = destination === undefined ? 'origin_unknown' : 'queue_not_found'
        task.skipped = { ...task.skipped, [reason]: task.skipped[reason] + 1 }
        entry.passed = next.sequence
      } else {
        fail(task)
        return
      }
    }
  }

  /** One message at once, and from then on as many a second as asked for; two missed seconds are made up for. */
  #allowed(entry: ModelMoveTask): number {
    const { movesPerSecond, moved } = entry.task
    if (movesPerSecond === null) return Number.POSITIVE_INFINITY
    const now = this.#model.now()
    const usedMs = Math.ceil((moved * 1_000) / movesPerSecond)
    entry.pacedFrom = Math.max(entry.pacedFrom, now - usedMs - 2_000)
    return Math.floor(((now - entry.pacedFrom) * movesPerSecond) / 1_000) + 1
  }
}

function isActive({ status }: MoveTask): boolean {
  return status === 'running' || status === 'cancelling'
}

function end(task: Mutable<MoveTask>): void {
  if (task.skipped.queue_not_found > 0) fail(task)
  else if (task.skipped.origin_unknown > 0) fail(task, 'origin_unknown')
  else task.status = 'completed'
}

function fail(task: Mutable<MoveTask>, failure: MoveTaskFailure = 'queue_not_found'): void {
  task.status = 'failed'
  task.failure = failure
}
