/** DeleteQueue: deletes a queue and its messages at once. */
import { type Action, action } from '../action.ts'
import { structure, text } from '../shapes.ts'

export const deleteQueue: Action = action({
  name: 'DeleteQueue',
  input: structure({ QueueUrl: text }),
  output: null,
  onQueue: true,
  async run(context) {
    await context.store.deleteQueue({ queue: context.queue().name })
    return {}
  },
})
