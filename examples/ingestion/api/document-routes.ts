/** The status of documents, and search in those that are ready. */
import type { Hono } from 'hono'
import type { DocumentRecord } from '../records/library.ts'
import { runSearch } from '../stages/run-search.ts'
import { type ApiEnv, type ApiSetup, missing, refusal } from './create-api.ts'

const documentsMax = 100
const foundMax = 10
const questionCharsMax = 500

export function documentRoutes(app: Hono<ApiEnv>, { library, mill, embedder }: ApiSetup): void {
  app.get('/api/kb/:kbId/documents', async (c) => {
    const documents = await library.documentsIn(c.req.param('kbId'), documentsMax)
    return c.json({ items: documents.map(toView) })
  })

  app.get('/api/kb/:kbId/documents/:documentId', async (c) => {
    const document = await library.document(c.req.param('documentId'))
    if (document?.kbId !== c.req.param('kbId')) return missing(c)
    const flow = await mill.flows.extraction.read(document.id)
    const pages = await library.pagesOf(document.id)
    return c.json({
      ...toView(document),
      unitsDone: flow?.units.done ?? 0,
      unitsDead: flow?.units.dead ?? 0,
      pages: pages.map(({ page, imageKey, width, height }) => ({
        page,
        image: `/api/cache/${imageKey}`,
        width,
        height,
      })),
    })
  })

  app.get('/api/kb/:kbId/search', async (c) => {
    const text = c.req.query('q')?.trim() ?? ''
    if (text === '' || text.length > questionCharsMax) {
      return refusal(c, 400, `q: expected 1 to ${questionCharsMax} characters`)
    }
    const [embedding = new Float32Array()] = await embedder.embed([text], c.req.raw.signal)
    const candidates = library.searchable(c.req.param('kbId'), embedder.model)
    const found = await runSearch({ text, embedding }, candidates, foundMax)
    return c.json({
      items: found.map(({ candidate: { embedding: _, ...chunk }, score }) => ({
        ...chunk,
        score: Math.round(score * 1_000) / 1_000,
      })),
    })
  })
}

function toView(document: DocumentRecord): object {
  const { id, filename, status, failure, unitsTotal, confidenceTier, createdAt } = document
  return {
    documentId: id,
    filename,
    status,
    failure,
    unitsTotal,
    confidenceTier,
    createdAt: new Date(createdAt).toISOString(),
  }
}
