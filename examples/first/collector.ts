/** A collector: people write in pieces, and what they write within a short window becomes one message. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { collector, defineApp, open, queue, triggers } from 'millrace'
import { z } from 'zod'

const Piece = z.object({ chat: z.string(), id: z.string(), text: z.string() })

const app = defineApp('first-collector', {
  queues: {
    // Carries one small message per conversation, delayed by the window.
    due: triggers({ deadLetter: { after: 3 } }),
    questions: queue({ schema: z.object({ chat: z.string(), text: z.string() }) }),
  },
  collectors: {
    chats: collector({
      schema: Piece,
      key: (piece) => piece.chat, // what is merged
      id: (piece) => piece.id, // what tells pieces apart
      window: '2s',
      triggers: 'due',
      targets: ['questions'],
      route: () => 'questions',
      merge: (pieces, chat) => ({ chat, text: pieces.map(({ text }) => text).join(' ') }),
    }),
  },
})

// A folder of its own, so that each run starts empty. Without `data` the store is in `.millrace/`.
const data = await mkdtemp(join(tmpdir(), 'millrace-first-'))
const mill = await open(app, { data })
const { chats } = mill.collectors

const answered = Promise.withResolvers<void>()
let answers = 0

// The collector brings the handler of its triggers with it.
const worker = mill.worker({
  poll: ['due', 'questions'],
  handle: {
    questions: ({ chat, text }) => {
      console.log(`${chat} asks: ${text}`)
      answers += 1
      if (answers === 2) answered.resolve()
    },
  },
})
worker.start()

await chats.add({ chat: 'ada', id: 'a1', text: 'Hello.' })
await chats.add({ chat: 'ben', id: 'b1', text: 'Are you open on Monday?' })
await chats.add({ chat: 'ada', id: 'a2', text: 'I ordered flour.' })

// Providers deliver twice. A piece counts once.
const again = await chats.add({ chat: 'ada', id: 'a2', text: 'I ordered flour.' })
console.log(`The same piece again: ${again.status}.`)
await chats.add({ chat: 'ada', id: 'a3', text: 'Where is it?' })

const waiting = await chats.inspect('ada')
console.log(`Of ada ${waiting?.staged} pieces wait.`)

await answered.promise
await mill.close()
await rm(data, { recursive: true })
