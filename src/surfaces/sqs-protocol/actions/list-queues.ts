/** ListQueues: lists the caller's queues in the caller's region, by name. */
import { addressOf, namespaceOf } from '../../../sqs/queue-address.ts'
import { type Action, action } from '../action.ts'
import { pageRequest } from '../queues/pages.ts'
import { integer, listOf, structure, text } from '../shapes.ts'

export const listQueues: Action = action({
  name: 'ListQueues',
  input: structure({ QueueNamePrefix: text, NextToken: text, MaxResults: integer }),
  output: structure({ QueueUrls: listOf('QueueUrl', text), NextToken: text }),
  onQueue: false,
  async run(context, { QueueNamePrefix: prefix = '', ...paging }) {
    const { store, settings, caller } = context
    const namespace = namespaceOf(caller, settings.home)
    const page = pageRequest(paging)
    const { items, next } = await store.listQueues({ namespace, prefix, ...page.request })
    const urls = items.map(({ name }) => context.urlOf(addressOf(name, settings.home)))
    return { QueueUrls: urls, ...page.answer(next) }
  },
})
