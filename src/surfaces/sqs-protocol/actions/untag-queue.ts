/** UntagQueue: removes tags. Missing tags are ignored. */
import { type Action, action } from '../action.ts'
import { missingParameter } from '../refusals.ts'
import { listOf, structure, text } from '../shapes.ts'

export const untagQueue: Action = action({
  name: 'UntagQueue',
  input: structure({ QueueUrl: text, TagKeys: listOf('TagKey', text) }),
  output: null,
  onQueue: true,
  async run(context, { TagKeys }) {
    const { name: queue } = context.queue()
    if (TagKeys === undefined || TagKeys.length === 0) throw missingParameter('TagKeys')
    await context.store.tagQueue({ queue, remove: TagKeys })
    return {}
  },
})
