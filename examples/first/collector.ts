/** A collector: short messages that arrive within a window are merged into one. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { collector, defineApp, open, queue, triggers } from 'millrace'
import { z } from 'zod'

const Piece = z.object({ chat: z.string(), id: z.string(), text: z.string() })

const app = defineApp('first-collector', {
  queues: {
    // Gets one trigger per chat, delayed by the window.
    due: triggers({ deadLetter: { after: 3 } }),
    questions: queue({ schema: z.object({ chat: z.string(), text: z.string() }) }),
  },
  collectors: {
    chats: collector({
      schema: Piece,
      key: (piece) => piece.chat, // pieces with the same key are merged
      id: (piece) => piece.id, // a repeated id is a duplicate
      window: '2s',
      triggers: 'due',
      targets: ['questions'],
      route: () => 'questions',
      merge: (pieces, chat) => ({ chat, text: pieces.map(({ text }) => text).join(' ') }),
    }),
  },
})

// A temporary folder, so that each run starts empty. Without `data` the store is in `.millrace/`.
const data = await mkdtemp(join(tmpdir(), 'millrace-first-'))
const mill = await open(app, { data })
const { chats } = mill.collectors

const answered = Promise.withResolvers<void>()
let answers = 0

// The collector handles its own triggers in 'due'.
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

// A piece that is added twice is merged once.
const again = await chats.add({ chat: 'ada', id: 'a2', text: 'I ordered flour.' })
console.log(`The same piece again: ${again.status}.`)
await chats.add({ chat: 'ada', id: 'a3', text: 'Where is it?' })

const waiting = await chats.inspect('ada')
console.log(`Pieces of ada that wait: ${waiting?.staged}.`)

await answered.promise
await mill.close()
await rm(data, { recursive: true })
