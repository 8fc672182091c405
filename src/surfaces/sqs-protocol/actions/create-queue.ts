/** CreateQueue: creates a queue, or returns the URL of an existing queue with the same attributes. */
import { isRefused } from '../../../core/millrace-error.ts'
import type { QueueSettings } from '../../../core/queue-settings.ts'
import {
  attributesOfQueue,
  type QueueAttributes,
  settingsFromAttributes,
} from '../../../sqs/queue-attributes.ts'
import { type Action, type ActionContext, action } from '../action.ts'
import { checkDeadLetterTarget } from '../queues/dead-letter-target.ts'
import { queueTypeOf } from '../queues/queue-type.ts'
import { mapOf, structure, text } from '../shapes.ts'
import { SqsError } from '../sqs-error.ts'

export const createQueue: Action = action({
  name: 'CreateQueue',
  input: structure({
    QueueName: text,
    Attributes: mapOf('Attribute', 'Name', text),
    tags: mapOf('Tag', 'Key', text),
  }),
  output: structure({ QueueUrl: text }),
  onQueue: false,
  async run(context, { QueueName, Attributes: attributes = {}, tags = {} }) {
    const { store, settings: wire } = context
    const { name, type } = queueTypeOf(QueueName, attributes)
    const { address, name: queue } = context.locate({ name })
    const scene = { queue: address, home: wire.home, type }
    const settings = { ...settingsFromAttributes(attributes, scene), type }
    const policy = attributes['RedrivePolicy']
    await checkDeadLetterTarget(store, { queue, type, target: settings.deadLetter, policy })
    try {
      await store.createQueue({ queue, settings, tags, cooldownMs: wire.cooldownMs })
    } catch (error) {
      if (!isRefused(error, 'queue_exists')) throw error
      await refuseDifferent(context, { queue, settings, attributes })
    }
    return { QueueUrl: context.urlOf(address) }
  },
})

interface Wanted {
  readonly queue: string
  readonly settings: Partial<QueueSettings>
  readonly attributes: QueueAttributes
}

/** Throws an error that names the first attribute with another value. Omitted attributes are not compared. */
async function refuseDifferent(context: ActionContext, wanted: Wanted): Promise<void> {
  const { store, settings: wire } = context
  const record = await store.readQueue({ queue: wanted.queue })
  const annotations = { ...record.settings.annotations, ...wanted.settings.annotations }
  const settings = { ...record.settings, ...wanted.settings, annotations }
  const is = attributesOfQueue(record, wire.home)
  const should = attributesOfQueue({ ...record, settings }, wire.home)
  const different = Object.keys(wanted.attributes).find((name) => is[name] !== should[name])
  if (different === undefined) return
  throw new SqsError(
    'QueueNameExists',
    `A queue already exists with the same name and a different value for attribute ${different}`,
  )
}
