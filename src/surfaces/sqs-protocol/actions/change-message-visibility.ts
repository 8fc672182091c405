/** ChangeMessageVisibility: changes when a message can be received again. */
import { type Action, action } from '../action.ts'
import { changeVisibility, visibilitySecondsMax } from '../messages/changing-visibility.ts'
import { missingHandle } from '../messages/receipt-handles.ts'
import { invalidValue, missingParameter } from '../refusals.ts'
import { integer, structure, text } from '../shapes.ts'

export const changeMessageVisibility: Action = action({
  name: 'ChangeMessageVisibility',
  input: structure({ QueueUrl: text, ReceiptHandle: text, VisibilityTimeout: integer }),
  output: null,
  onQueue: true,
  async run(context, { ReceiptHandle: handle = '', VisibilityTimeout: seconds }) {
    const missing = missingHandle(handle)
    if (missing !== undefined) throw missing
    if (seconds === undefined) throw missingParameter('VisibilityTimeout')
    if (seconds < 0 || seconds > visibilitySecondsMax) {
      const reason = `Must be between 0 and ${visibilitySecondsMax}.`
      throw invalidValue({ parameter: 'VisibilityTimeout', value: seconds, reason })
    }
    const [refusal] = await changeVisibility(context, [{ handle, seconds }])
    if (refusal !== undefined) throw refusal
    return {}
  },
})
