/** ChangeMessageVisibilityBatch: up to ten changes, each with its own result. */
import { type Action, action } from '../action.ts'
import { answerEach, checkBatch, failedEntries, type Identified } from '../messages/batch.ts'
import { changeVisibility, visibilitySecondsMax } from '../messages/changing-visibility.ts'
import { missingHandle } from '../messages/receipt-handles.ts'
import { invalidValue, missingParameter } from '../refusals.ts'
import { integer, listOf, structure, text, type ValueOf } from '../shapes.ts'
import type { SqsError } from '../sqs-error.ts'

const entryName = 'ChangeMessageVisibilityBatchRequestEntry'
const entry = structure({ Id: text, ReceiptHandle: text, VisibilityTimeout: integer })

type Entry = Identified<ValueOf<typeof entry>>

export const changeMessageVisibilityBatch: Action = action({
  name: 'ChangeMessageVisibilityBatch',
  input: structure({ QueueUrl: text, Entries: listOf(entryName, entry) }),
  output: structure({
    Successful: listOf('ChangeMessageVisibilityBatchResultEntry', structure({ Id: text })),
    Failed: failedEntries,
  }),
  onQueue: true,
  async run(context, { Entries }) {
    return answerEach(checkBatch(Entries, entryName), {
      refuse,
      run: (entries) =>
        changeVisibility(
          context,
          entries.map(({ ReceiptHandle = '', VisibilityTimeout = 0 }) => {
            return { handle: ReceiptHandle, seconds: VisibilityTimeout }
          }),
        ),
    })
  },
})

function refuse(
  { ReceiptHandle, VisibilityTimeout: value }: Entry,
  index: number,
): SqsError | undefined {
  const parameter = 'VisibilityTimeout'
  if (value === undefined) return missingParameter(`${entryName}.${index + 1}.${parameter}`)
  if (value >= 0 && value <= visibilitySecondsMax) return missingHandle(ReceiptHandle)
  const reason = `${parameter} must be an integer between 0 and ${visibilitySecondsMax}.`
  return invalidValue({ parameter, value, reason })
}
