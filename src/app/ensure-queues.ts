/**
 * Creates and updates the queues of an app. Declared settings replace settings that were changed by hand.
 * Other queues are not changed.
 */
import type { Backend, QueueRecord } from '../backends/backend.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import type { PlannedQueue, ResolvedQueues } from '../contracts/resolve-queues.ts'
import { MillraceError } from '../core/millrace-error.ts'

export async function ensureQueues(
  backend: Backend,
  { planned, queues }: ResolvedQueues,
): Promise<void> {
  refuseUnsupported(backend, planned, queues)
  // In order, because the dead-letter queue must exist first.
  for (const plan of planned) {
    const queue = await createOrChange(backend, plan)
    const tagged = Object.entries(plan.tags).every(([key, value]) => queue.tags[key] === value)
    if (!tagged) await backend.tagQueue({ queue: plan.queue, set: plan.tags })
  }
}

async function createOrChange(backend: Backend, plan: PlannedQueue): Promise<QueueRecord> {
  try {
    return (await backend.createQueue(plan)).queue
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'queue_exists') throw error
  }
  const { type, ...changes } = plan.settings
  const existing = await backend.readQueue({ queue: plan.queue })
  if (existing.settings.type !== type) {
    const message =
      `The queue '${plan.queue}' is declared as ${type} but exists as ${existing.settings.type}. ` +
      'The type of a queue cannot change: use another name, or delete the existing queue.'
    throw new MillraceError('queue_exists', { message })
  }
  return backend.changeQueue({ queue: plan.queue, changes })
}

/** Rejects settings that the backend does not support, at the start. */
function refuseUnsupported(
  { capabilities, jobs }: Backend,
  planned: readonly PlannedQueue[],
  queues: readonly NamedQueue[],
): void {
  const { name, fifo, delayMsMax, trackedJobs } = capabilities
  const violations = planned.flatMap(({ queue, settings }) => [
    ...(settings.type === 'fifo' && !fifo
      ? [{ field: queue, given: 'a FIFO queue', allowed: `standard queues only on ${name}` }]
      : []),
    ...(settings.delayMs > delayMsMax
      ? [
          {
            field: queue,
            given: `a delay of ${settings.delayMs} ms`,
            allowed: `at most ${delayMsMax} ms on ${name}`,
          },
        ]
      : []),
  ])
  if (!trackedJobs || jobs === null) {
    for (const { name: field } of queues.filter(({ declared }) => isJobsQueue(declared))) {
      violations.push({ field, given: 'a queue of tracked jobs', allowed: `none on ${name}` })
    }
  }
  if (violations.length > 0) throw MillraceError.invalid(violations, 'unsupported')
}
