/** A flow: units of work that run in parallel, and one message when all are done. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineApp, flow, open, queue } from 'millrace'
import { z } from 'zod'

const Book = z.object({ book: z.string() })

const app = defineApp('first-flow', {
  queues: {
    // At most two pages at once, across all workers.
    pages: queue({
      schema: Book.extend({ page: z.number() }),
      concurrency: 2,
      deadLetter: { after: 3 },
      backoff: { from: '100ms' },
    }),
    bind: queue({ schema: Book, deadLetter: { after: 3 } }),
  },
  flows: {
    printing: flow({ units: 'pages', finalize: 'bind' }),
  },
})

// A temporary folder, so that each run starts empty. Without `data` the store is in `.millrace/`.
const data = await mkdtemp(join(tmpdir(), 'millrace-first-'))
const mill = await open(app, { data })

const bound = Promise.withResolvers<void>()
let printed = 0
let jams = 1

const worker = mill.worker({
  poll: ['pages', 'bind'],
  handle: {
    pages: ({ page }) => {
      // A unit that fails is retried, and the flow waits for it.
      if (page === 4 && jams-- > 0) throw new Error('The paper is jammed.')
      printed += 1
    },
    // Completing the last page sends this message in the same commit, so it is sent once.
    bind: ({ book }) => {
      console.log(`${printed} pages are printed. Binding "${book}".`)
      bound.resolve()
    },
  },
})

const units = [1, 2, 3, 4, 5, 6].map((page) => ({
  id: `page-${page}`,
  message: { book: 'Mills', page },
}))
const finalize = { message: { book: 'Mills' } }
const opened = await mill.flows.printing.open('mills', { units, finalize })
console.log(`The flow is ${opened.status}, with ${opened.added} units.`)

// The id identifies the flow, so opening it again adds nothing.
const again = await mill.flows.printing.open('mills', { units, finalize })
console.log(`Opened again: ${again.status}, ${again.added} units added.`)

worker.start()
await bound.promise

const state = await mill.flows.printing.read('mills')
console.log(`The flow is ${state?.status}: ${state?.units.done} of ${state?.units.total} done.`)

await mill.close()
await rm(data, { recursive: true })
