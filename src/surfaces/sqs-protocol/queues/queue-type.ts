/** The type of a new queue, from its name and the attribute FifoQueue. */

import { isFifoName } from '../../../core/check-queue.ts'
import type { QueueSettings } from '../../../core/queue-settings.ts'
import type { QueueAttributes } from '../../../sqs/queue-attributes.ts'
import { invalidParameter } from '../refusals.ts'

export interface TypedName {
  readonly name: string
  readonly type: QueueSettings['type']
}

const plainName = /^[A-Za-z0-9_-]{1,80}$/
const fifoName = /^[A-Za-z0-9_-]{1,75}\.fifo$/

export function queueTypeOf(name: string | undefined, attributes: QueueAttributes): TypedName {
  if (name === undefined) {
    throw invalidParameter(
      'Value for parameter QueueName is invalid. Reason: Must specify a queue name.',
    )
  }
  if (name === '') throw invalidParameter('Queue name cannot be empty')
  const isFifo = attributes['FifoQueue']?.toLowerCase() === 'true'
  if (isFifo && !isFifoName(name)) {
    throw invalidParameter(
      'The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length',
    )
  }
  if (!(isFifo ? fifoName : plainName).test(name)) {
    throw invalidParameter(
      'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
    )
  }
  return { name, type: isFifo ? 'fifo' : 'standard' }
}
