/** AddPermission: adds a statement to the policy of a queue. */
import { addPermission as withPermission } from '../../../sqs/access-policy.ts'
import { formatArn } from '../../../sqs/queue-address.ts'
import { type Action, action } from '../action.ts'
import { changePolicy } from '../queues/change-policy.ts'
import { missingParameter } from '../refusals.ts'
import { listOf, structure, text } from '../shapes.ts'

export const addPermission: Action = action({
  name: 'AddPermission',
  input: structure({
    QueueUrl: text,
    Label: text,
    AWSAccountIds: listOf('AWSAccountId', text),
    Actions: listOf('ActionName', text),
  }),
  output: null,
  onQueue: true,
  async run(context, { Label: label = '', AWSAccountIds: accounts = [], Actions: actions = [] }) {
    const queueArn = formatArn(context.queue().address)
    await changePolicy(context, (policy) => {
      if (actions.length === 0) throw missingParameter('ActionName')
      if (accounts.length === 0) throw missingParameter('AWSAccountIds')
      if (label === '') throw missingParameter('Label')
      return withPermission(policy, { queueArn, label, accounts, actions })
    })
    return {}
  },
})
