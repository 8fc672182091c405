/** DeleteMessage: deletes the message of a receipt handle, or completes a tracked job. */
import { type Action, action } from '../action.ts'
import { deleteMessages } from '../messages/deleting.ts'
import { missingHandle } from '../messages/receipt-handles.ts'
import { structure, text } from '../shapes.ts'

export const deleteMessage: Action = action({
  name: 'DeleteMessage',
  input: structure({ QueueUrl: text, ReceiptHandle: text }),
  output: null,
  onQueue: true,
  async run(context, { ReceiptHandle: handle = '' }) {
    const missing = missingHandle(handle)
    if (missing !== undefined) throw missing
    const [refusal] = await deleteMessages(context, [handle])
    if (refusal !== undefined) throw refusal
    return {}
  },
})
