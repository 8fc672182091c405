/** TagQueue: adds tags, or replaces their values. */
import { type Action, action } from '../action.ts'
import { missingParameter } from '../refusals.ts'
import { mapOf, structure, text } from '../shapes.ts'

export const tagQueue: Action = action({
  name: 'TagQueue',
  input: structure({ QueueUrl: text, Tags: mapOf('Tag', 'Key', text) }),
  output: null,
  onQueue: true,
  async run(context, { Tags }) {
    const { name: queue } = context.queue()
    if (Tags === undefined || Object.keys(Tags).length === 0) throw missingParameter('Tags')
    await context.store.tagQueue({ queue, set: Tags })
    return {}
  },
})
