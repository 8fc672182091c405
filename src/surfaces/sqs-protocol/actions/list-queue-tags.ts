/** ListQueueTags: returns all tags of a queue. */
import { type Action, action } from '../action.ts'
import { mapOf, structure, text } from '../shapes.ts'

export const listQueueTags: Action = action({
  name: 'ListQueueTags',
  input: structure({ QueueUrl: text }),
  output: structure({ Tags: mapOf('Tag', 'Key', text) }),
  onQueue: true,
  async run(context) {
    const { tags } = await context.store.readQueue({ queue: context.queue().name })
    return { Tags: tags }
  },
})
