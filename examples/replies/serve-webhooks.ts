/** The webhooks as a process: what stands behind the gateway that providers call. */
import { mkdirSync } from 'node:fs'
import { runUntilSignal } from 'millrace'
import { pino } from 'pino'
import { LocalServer } from '../shared/local-server.ts'
import { ConversationBook } from './conversations/conversation-book.ts'
import { readWebhookEnvironment } from './environment.ts'
import { openReplies } from './open-replies.ts'
import { createApi } from './webhooks/create-api.ts'

const environment = readWebhookEnvironment()
const { settings: app, data, twilioAuthToken, emailSecret } = environment
const log = pino({ level: 'warn' }, pino.destination(2))
mkdirSync(data, { recursive: true })
const mill = await openReplies({ settings: app, data, log })
const book = new ConversationBook(environment.conversationsFile)
const settings = {
  twilioAuthToken,
  emailSecret,
  /** Which port it is may be known only once it listens, and it is part of what is signed. */
  get publicUrl() {
    return environment.publicUrl ?? server.url
  },
}
const api = createApi({ mill, book, settings, log, now: () => new Date() })
const server = new LocalServer(api.fetch, environment.port)
await server.listening()
console.log(`webhooks ${server.url}`)

await runUntilSignal(mill, server)
book.close()
