/** A flow whose steps are functions. */
import { z } from 'zod'
import { defineApp, flow, jobs, queue } from '../../../src/index.ts'

const Book = z.object({ book: z.string(), pages: z.number() })

export const press = defineApp('press', {
  queues: {
    books: queue({ schema: Book, deadLetter: { after: 2 } }),
    pages: queue({ schema: z.object({ book: z.string(), page: z.number() }), deadLetter: {} }),
    bound: queue({ schema: z.object({ book: z.string() }) }),
    work: jobs({ types: { PRINT: z.object({ copies: z.number() }) } }),
  },
  flows: { printing: flow({ units: 'pages', finalize: 'bound' }) },
})
