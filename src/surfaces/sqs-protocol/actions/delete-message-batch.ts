/** DeleteMessageBatch: up to ten deletes, each with its own result. */
import { type Action, action } from '../action.ts'
import { answerEach, checkBatch, failedEntries } from '../messages/batch.ts'
import { deleteMessages } from '../messages/deleting.ts'
import { missingHandle } from '../messages/receipt-handles.ts'
import { listOf, structure, text } from '../shapes.ts'

const entryName = 'DeleteMessageBatchRequestEntry'

export const deleteMessageBatch: Action = action({
  name: 'DeleteMessageBatch',
  input: structure({
    QueueUrl: text,
    Entries: listOf(entryName, structure({ Id: text, ReceiptHandle: text })),
  }),
  output: structure({
    Successful: listOf('DeleteMessageBatchResultEntry', structure({ Id: text })),
    Failed: failedEntries,
  }),
  onQueue: true,
  async run(context, { Entries }) {
    return answerEach(checkBatch(Entries, entryName), {
      refuse: ({ ReceiptHandle }) => missingHandle(ReceiptHandle),
      run: (entries) =>
        deleteMessages(
          context,
          entries.map(({ ReceiptHandle = '' }) => ReceiptHandle),
        ),
    })
  },
})
