/** ListDeadLetterSourceQueues: lists the queues that use this dead-letter queue. */
import { addressOf } from '../../../sqs/queue-address.ts'
import { type Action, action } from '../action.ts'
import { pageRequest } from '../queues/pages.ts'
import { integer, listOf, structure, text } from '../shapes.ts'

export const listDeadLetterSourceQueues: Action = action({
  name: 'ListDeadLetterSourceQueues',
  input: structure({ QueueUrl: text, NextToken: text, MaxResults: integer }),
  output: structure({ queueUrls: listOf('QueueUrl', text), NextToken: text }),
  onQueue: true,
  async run(context, paging) {
    const { store, settings } = context
    const { name: queue } = context.queue()
    const page = pageRequest(paging)
    const { items, next } = await store.listDeadLetterSources({ queue, ...page.request })
    const urls = items.map(({ name }) => context.urlOf(addressOf(name, settings.home)))
    return { queueUrls: urls, ...page.answer(next) }
  },
})
