/** The webhook process, which a gateway or proxy exposes to the providers. */
import { mkdirSync } from 'node:fs'
import { runUntilSignal } from 'millrace'
import { pino } from 'pino'
import { LocalServer } from '../shared/local-server.ts'
import { ConversationStore } from './conversations/conversation-store.ts'
import { readWebhookEnvironment } from './environment.ts'
import { openReplies } from './open-replies.ts'
import { createApi } from './webhooks/create-api.ts'

const environment = readWebhookEnvironment()
const { settings: app, store, data, twilioAuthToken, emailSecret } = environment
const log = pino({ level: 'warn' }, pino.destination(2))
mkdirSync(data, { recursive: true })
const mill = await openReplies({ settings: app, store, log })
const conversations = new ConversationStore(environment.conversationsFile)
const settings = {
  twilioAuthToken,
  emailSecret,
  /** The port may be known only after listening starts, and the signature covers the URL. */
  get publicUrl() {
    return environment.publicUrl ?? server.url
  },
}
const api = createApi({ mill, conversations, settings, log, now: () => new Date() })
const server = new LocalServer(api.fetch, environment.port)
await server.listening()
console.log(`webhooks ${server.url}`)

await runUntilSignal(mill, server)
conversations.close()
