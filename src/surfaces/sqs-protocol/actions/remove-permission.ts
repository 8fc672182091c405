/** RemovePermission: removes a statement from the policy of a queue. */
import { removePermission as withoutPermission } from '../../../sqs/access-policy.ts'
import { type Action, action } from '../action.ts'
import { changePolicy } from '../queues/change-policy.ts'
import { missingParameter } from '../refusals.ts'
import { structure, text } from '../shapes.ts'

export const removePermission: Action = action({
  name: 'RemovePermission',
  input: structure({ QueueUrl: text, Label: text }),
  output: null,
  onQueue: true,
  async run(context, { Label: label = '' }) {
    await changePolicy(context, (policy) => {
      if (label === '') throw missingParameter('Label')
      return withoutPermission(policy, label)
    })
    return {}
  },
})
