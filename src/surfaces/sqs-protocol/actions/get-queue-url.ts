/** GetQueueUrl: returns the URL of a queue by name. */
import { type Action, action } from '../action.ts'
import { missingParameter } from '../refusals.ts'
import { structure, text } from '../shapes.ts'

export const getQueueUrl: Action = action({
  name: 'GetQueueUrl',
  input: structure({ QueueName: text, QueueOwnerAWSAccountId: text }),
  output: structure({ QueueUrl: text }),
  // AWS also accepts this request at the path of any queue.
  onQueue: true,
  async run(context, { QueueName, QueueOwnerAWSAccountId: account }) {
    if (QueueName === undefined) throw missingParameter('QueueName')
    const { address, name } = context.locate({
      name: QueueName,
      ...(account !== undefined && { account }),
    })
    await context.store.readQueue({ queue: name })
    return { QueueUrl: context.urlOf(address) }
  },
})
