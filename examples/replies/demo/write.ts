/** Sends messages to the running webhooks as a sample customer: `write.ts ada 'Hello' 'are you there?'` */
import { randomUUID } from 'node:crypto'
import { ConversationStore } from '../conversations/conversation-store.ts'
import { readWebhookEnvironment } from '../environment.ts'
import { Provider } from './provider.ts'
import { sampleConversations } from './sample-conversations.ts'

const [who, ...texts] = process.argv.slice(2)
const writer = sampleConversations.find(({ conversation_id }) => conversation_id === `conv-${who}`)
if (writer === undefined || texts.length === 0) {
  const names = sampleConversations.map(({ conversation_id }) => conversation_id.slice(5))
  console.error(`Usage: write.ts <${names.join('|')}> <text> ...`)
  process.exit(2)
}
const { port, publicUrl, twilioAuthToken, emailSecret, conversationsFile } =
  readWebhookEnvironment()
const conversations = new ConversationStore(conversationsFile)
for (const conversation of sampleConversations) conversations.add(conversation)
conversations.close()
const { customer: from, line: to, channel_type: channel } = writer
const url = publicUrl ?? `http://127.0.0.1:${port}`
const provider = new Provider({ url, twilioAuthToken, emailSecret })
for (const text of texts) {
  const id = randomUUID()
  const { status, outcome } =
    channel === 'email'
      ? await provider.deliverEmail({ id, from, to, text })
      : await provider.deliver({ channel, sid: `SM${id}`, from, to, body: text })
  console.log(status, outcome)
}
