/** Checks a dead-letter queue, with the error texts of SQS. */
import type { DeadLetterTarget, QueueRecord, QueueSettings } from '../../../backends/backend.ts'
import { isRefused } from '../../../core/millrace-error.ts'
import { invalidPolicy } from '../../../sqs/attribute-refusal.ts'
import type { WireStore } from '../action.ts'

export interface WantedTarget {
  /** The name of the source queue in the store. */
  readonly queue: string
  readonly type: QueueSettings['type']
  readonly target: DeadLetterTarget | null | undefined
  /** The policy as given. */
  readonly policy: string | undefined
}

/** The store repeats these checks in the transaction that changes the queue. */
export async function checkDeadLetterTarget(
  store: WireStore,
  { queue, type, target, policy = '' }: WantedTarget,
): Promise<void> {
  if (target === null || target === undefined) return
  const refuse = (reason: string): Error =>
    invalidPolicy({ attribute: 'RedrivePolicy', text: policy, reason })
  const found = await find(store, target.queue)
  if (found === undefined) throw refuse('Dead letter target does not exist.')
  if (found.settings.type !== type) {
    // AWS's text ends with two dots.
    throw refuse('Dead-letter queue must be same type of queue as the source..')
  }
  const { deadLetterSources: sources } = found.settings
  const isAllowed = sources === 'all' || (sources !== 'none' && sources.includes(queue))
  if (!isAllowed) {
    throw refuse('The redrive allow policy of the dead-letter queue does not allow this queue.')
  }
}

async function find(store: WireStore, queue: string): Promise<QueueRecord | undefined> {
  try {
    return await store.readQueue({ queue })
  } catch (error) {
    if (isRefused(error, 'queue_not_found')) return undefined
    throw error
  }
}
