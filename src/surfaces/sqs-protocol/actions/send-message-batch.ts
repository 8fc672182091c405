/**
 * SendMessageBatch: sends up to ten messages. On a standard queue each entry has its own result. On a FIFO
 * queue one invalid entry fails the batch, to keep the order.
 */
import { messageBytes } from '../../../core/check-message.ts'
import { isFifoName } from '../../../core/check-queue.ts'
import { limits } from '../../../core/limits.ts'
import type { NewMessage } from '../../../core/message.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { type Action, type ActionContext, action } from '../action.ts'
import { checkBatch, type FailedEntry, failedEntries, failedEntry } from '../messages/batch.ts'
import { messageMembers, type Outgoing, readMessage } from '../messages/outgoing-message.ts'
import { sendRefusal } from '../messages/send-refusal.ts'
import { sendAllOrNone, sendEach } from '../messages/sending.ts'
import { sentMembers, sentMessage } from '../messages/sent-message.ts'
import { listOf, structure, text, type ValueOf } from '../shapes.ts'
import { SqsError } from '../sqs-error.ts'

const entryName = 'SendMessageBatchRequestEntry'
const entry = structure({ Id: text, ...messageMembers })
const sentEntry = structure({ Id: text, ...sentMembers })

export const sendMessageBatch: Action = action({
  name: 'SendMessageBatch',
  input: structure({ QueueUrl: text, Entries: listOf(entryName, entry) }),
  output: structure({
    Successful: listOf('SendMessageBatchResultEntry', sentEntry),
    Failed: failedEntries,
  }),
  onQueue: true,
  async run(context, input) {
    const isFifo = isFifoName(context.queue().address.name)
    const entries = checkBatch(input.Entries, entryName)
    const failed: FailedEntry[] = []
    const sendable = readEntries(context, entries, { isFifo, failed })
    checkTotalSize(sendable.map(({ message }) => message))
    const successful = await sendAll(context, sendable, { isFifo, failed })
    return { Successful: successful, Failed: failed }
  },
})

interface OutgoingEntry extends Outgoing {
  readonly id: string
}

interface Batch {
  readonly isFifo: boolean
  /** Collects the entries that are rejected one by one. */
  readonly failed: FailedEntry[]
}

function readEntries(
  context: ActionContext,
  entries: readonly (ValueOf<typeof entry> & { readonly Id: string })[],
  { isFifo, failed }: Batch,
): readonly OutgoingEntry[] {
  const sendable: OutgoingEntry[] = []
  for (const [index, fields] of entries.entries()) {
    try {
      const destination = { isFifo, entry: `${entryName}.${index + 1}` }
      sendable.push({ id: fields.Id, ...readMessage(context, fields, destination) })
    } catch (error) {
      if (isFifo || !(error instanceof SqsError)) throw error
      failed.push(failedEntry(fields.Id, error))
    }
  }
  return sendable
}

const bytesMax = limits.messageBytesMax.max

function checkTotalSize(messages: readonly NewMessage[]): void {
  const isSurelyShort = messages.reduce(upperBound, 0) <= bytesMax
  const bytes = isSurelyShort
    ? 0
    : messages.reduce((sum, message) => sum + messageBytes(message), 0)
  if (bytes <= bytesMax) return
  const message = `Batch requests cannot be longer than ${bytesMax} bytes. You have sent ${bytes} bytes.`
  throw new SqsError('BatchRequestTooLong', message)
}

/** A fast upper bound of the size in bytes: a UTF-16 unit needs at most three bytes. */
function upperBound(sum: number, { body, attributes }: NewMessage): number {
  return attributes === undefined ? sum + body.length * 3 : Number.POSITIVE_INFINITY
}

async function sendAll(
  context: ActionContext,
  entries: readonly OutgoingEntry[],
  { isFifo, failed }: Batch,
): Promise<readonly ValueOf<typeof sentEntry>[]> {
  if (entries.length === 0) return []
  const send = isFifo ? sendAllOrNone : sendEach
  const results = await send(context, entries).catch(async (error: unknown) => {
    if (!(error instanceof MillraceError)) throw error
    const messages = entries.map(({ message }) => message)
    throw await sendRefusal(context, { error, messages, isEntry: false })
  })
  const successful: ValueOf<typeof sentEntry>[] = []
  for (const [index, outgoing] of entries.entries()) {
    const { id, message } = outgoing
    const result = results[index]
    if (result === undefined || result.status === 'refused') {
      const refused = { error: result?.error, messages: [message], isEntry: true }
      failed.push(failedEntry(id, await sendRefusal(context, refused)))
    } else {
      successful.push({ Id: id, ...sentMessage(outgoing, result, isFifo) })
    }
  }
  return successful
}
