/** What the workers of a printing press, and the tests that kill them, agree on: an app with flows. */
import { z } from 'zod'
import { chain, defineApp, flow, queue } from '../../src/index.ts'
import type { ChildMessage } from '../support/child-program.ts'

/** Short, so that what a killed worker had comes back soon. */
const lease = '1s'

const Page = z.object({
  document: z.string(),
  page: z.number(),
  /** The worker that first gets it kills itself inside the settling transaction, or right after it. */
  kills: z.enum(['before', 'after']).optional(),
})
const Document = z.object({ document: z.string() })
const dying = { visibilityTimeout: lease, deadLetter: { after: 50 } } as const

export const press = defineApp('press', {
  queues: {
    pages: queue({ schema: Page, ...dying }),
    ends: queue({ schema: Document, ...dying }),
    steps: queue({ schema: Document.extend({ step: z.number() }), ...dying }),
  },
  flows: { document: flow({ units: 'pages', finalize: 'ends' }) },
  chains: {
    steps: chain({
      steps: [
        { name: 'first', queue: 'steps' },
        { name: 'second', queue: 'steps' },
        { name: 'third', queue: 'steps' },
      ],
    }),
  },
})

/** Rows without a key: one that was written twice stands there twice. */
export const tables = `
  CREATE TABLE chunk (document TEXT, page INTEGER, text TEXT);
  CREATE TABLE ended (document TEXT);
  CREATE TABLE stepped (document TEXT, step INTEGER)`

export interface PressArgument {
  readonly data: string
  readonly concurrency: number
}

/** Something has begun. */
export interface BegunMessage extends ChildMessage {
  readonly kind: 'begun'
}
