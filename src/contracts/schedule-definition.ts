/**
 * What a schedule sends, in the form that the store keeps for schedules that are set at run time. Equal
 * definitions have equal texts, so the store can tell whether a schedule changes.
 */

import { canonicalJson } from '../core/canonical-json.ts'
import { isTriggersQueue } from './collector-declaration.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { DeclaredQueues } from './queue-declaration.ts'
import type {
  MissedTicks,
  ScheduledJob,
  ScheduledSend,
  ScheduleTarget,
} from './schedule-declaration.ts'

export interface ScheduleDefinition {
  readonly job?: ScheduledJob | undefined
  readonly send?: ScheduledSend | undefined
  /** Absent: each tick sends its time. */
  readonly payload?: unknown
  readonly missed?: MissedTicks | undefined
}

export function definitionText(definition: ScheduleDefinition): string {
  const { job, send, payload, missed } = definition
  return canonicalJson(JSON.stringify({ job, send, payload, missed }))
}

export function definitionFrom(text: string): ScheduleDefinition {
  return JSON.parse(text)
}

/** The queue, or the queue and the job type, that a process must know in order to tick. */
export function targetText({ job, send }: ScheduleTarget): string {
  return job === undefined ? send.queue : jobTarget(job.queue, job.type)
}

/** Keys of queues contain no slash. */
function jobTarget(queue: string, type: string): string {
  return `${queue}/${type}`
}

/** All targets that an app knows. */
export function targetsOf(queues: DeclaredQueues): readonly string[] {
  return Object.entries(queues).flatMap(([key, queue]) => {
    if (isTriggersQueue(queue)) return []
    if (!isJobsQueue(queue)) return [key]
    return Object.keys(queue.options.types).map((type) => jobTarget(key, type))
  })
}
