/** SendMessage: sends one message. Responds after the message is on disk. */
import { isFifoName } from '../../../core/check-queue.ts'
import { type Action, action } from '../action.ts'
import { messageMembers, readMessage } from '../messages/outgoing-message.ts'
import { sendRefusal } from '../messages/send-refusal.ts'
import { sendEach } from '../messages/sending.ts'
import { sentMembers, sentMessage } from '../messages/sent-message.ts'
import { structure, text } from '../shapes.ts'

export const sendMessage: Action = action({
  name: 'SendMessage',
  input: structure({ QueueUrl: text, ...messageMembers }),
  output: structure(sentMembers),
  onQueue: true,
  async run(context, input) {
    const isFifo = isFifoName(context.queue().address.name)
    const outgoing = readMessage(context, input, { isFifo, entry: undefined })
    const [result] = await sendEach(context, [outgoing])
    if (result === undefined || result.status === 'refused') {
      const messages = [outgoing.message]
      throw await sendRefusal(context, { error: result?.error, messages, isEntry: false })
    }
    return sentMessage(outgoing, result, isFifo)
  },
})
