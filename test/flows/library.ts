/** An app with flows of each kind, and what tests about them share. */
import { z } from 'zod'
import { defineApp, flow, jobs, queue } from '../../src/index.ts'

const Page = z.object({ documentId: z.string(), page: z.number() })
const Document = z.object({ documentId: z.string() })

const retries = { backoff: { from: '1s', factor: 1, jitter: 0 }, deadLetter: { after: 2 } } as const

export const library = defineApp('library', {
  queues: {
    prepare: queue({ schema: Document.extend({ pages: z.number() }), ...retries }),
    extract: queue({ schema: Page, visibilityTimeout: '10s', ...retries }),
    scan: jobs({ types: { SCAN: Page }, attempts: 2, ...retries }),
    finalize: queue({ schema: Document, ...retries }),
    failures: queue({ schema: Document, ...retries }),
  },
  flows: {
    extraction: flow({ units: 'extract', finalize: 'finalize' }),
    strict: flow({
      units: 'extract',
      finalize: 'finalize',
      failed: 'failures',
      onUnitFailure: 'fail',
    }),
    lenient: flow({ units: 'extract', finalize: 'finalize', onUnitFailure: 'finalize' }),
    scans: flow({ units: 'scan', finalize: 'finalize', keepWork: true }),
    volumes: flow({ units: 'prepare', finalize: 'finalize' }),
    late: flow({ units: 'extract', finalize: 'finalize', deadline: '40m' }),
  },
})

export type Library = typeof library

export interface PageUnit {
  readonly id: string
  readonly message: { readonly documentId: string; readonly page: number }
}

export function* pagesOf(documentId: string, pages: number): Generator<PageUnit> {
  for (let page = 1; page <= pages; page += 1) {
    yield { id: `page-${page}`, message: { documentId, page } }
  }
}

/** The finalize message of a document. */
export function endOf(documentId: string): { readonly message: { readonly documentId: string } } {
  return { message: { documentId } }
}

export async function gathered<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}
