/** GetQueueAttributes: returns the settings and message counts of a queue. */

import { unknownAttribute } from '../../../sqs/attribute-refusal.ts'
import {
  attributesOfQueue,
  countAttributes,
  isQueueAttribute,
  type QueueAttributes,
} from '../../../sqs/queue-attributes.ts'
import { type Action, action } from '../action.ts'
import { listOf, mapOf, structure, text } from '../shapes.ts'

const all = 'All'

export const getQueueAttributes: Action = action({
  name: 'GetQueueAttributes',
  input: structure({ QueueUrl: text, AttributeNames: listOf('AttributeName', text) }),
  output: structure({ Attributes: mapOf('Attribute', 'Name', text) }),
  onQueue: true,
  async run(context, { AttributeNames: names = [] }) {
    const { store, settings } = context
    const { name: queue } = context.queue()
    const record = await store.readQueue({ queue })
    for (const name of names) {
      if (name !== all && !isQueueAttribute(name)) throw unknownAttribute(name)
    }
    if (names.length === 0) return {}
    const counts = countAttributes(await store.queueStatistics({ queue }))
    return { Attributes: only(names, { ...attributesOfQueue(record, settings.home), ...counts }) }
  },
})

function only(names: readonly string[], attributes: QueueAttributes): QueueAttributes {
  if (names.includes(all)) return attributes
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => names.includes(name)))
}
