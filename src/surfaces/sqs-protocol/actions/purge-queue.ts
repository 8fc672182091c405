/**
 * PurgeQueue: deletes all messages of a queue, including delayed and in-flight ones, and its deduplication
 * ids.
 */
import { isRefused } from '../../../core/millrace-error.ts'
import { type Action, action } from '../action.ts'
import { structure, text } from '../shapes.ts'
import { SqsError } from '../sqs-error.ts'

export const purgeQueue: Action = action({
  name: 'PurgeQueue',
  input: structure({ QueueUrl: text }),
  output: null,
  onQueue: true,
  async run(context) {
    const { store, settings } = context
    const { name, address } = context.queue()
    try {
      await store.purgeQueue({ queue: name, cooldownMs: settings.cooldownMs })
    } catch (error) {
      if (!isRefused(error, 'purge_in_progress')) throw error
      const message = `Only one PurgeQueue operation on ${address.name} is allowed every 60 seconds.`
      throw new SqsError('PurgeQueueInProgress', message)
    }
    return {}
  },
})
