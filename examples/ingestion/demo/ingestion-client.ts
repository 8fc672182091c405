/** What a browser does: requests an upload URL, uploads, checks the status, searches. */
import { z } from 'zod'
import { untilMatching } from '../../shared/until.ts'

const Minted = z.object({
  uploadUrl: z.url(),
  objectKey: z.string(),
  documentId: z.string(),
  upload: z.discriminatedUnion('method', [
    z.object({ method: z.literal('PUT'), headers: z.record(z.string(), z.string()) }),
    z.object({ method: z.literal('POST'), fields: z.record(z.string(), z.string()) }),
  ]),
})
export type Minted = z.infer<typeof Minted>

const DocumentView = z.object({
  documentId: z.string(),
  filename: z.string(),
  status: z.enum(['pending', 'ingesting', 'ready', 'failed']),
  failure: z.string().nullable(),
  unitsTotal: z.number().nullable(),
  unitsDone: z.number(),
  unitsDead: z.number(),
  confidenceTier: z.string().nullable(),
  pages: z.array(z.object({ page: z.number(), image: z.string() })),
})
export type DocumentView = z.infer<typeof DocumentView>

const Found = z.object({
  items: z.array(
    z.object({
      documentId: z.string(),
      filename: z.string(),
      title: z.string(),
      sectionPath: z.string(),
      content: z.string(),
      pageFrom: z.number(),
      score: z.number(),
    }),
  ),
})
export type Found = z.infer<typeof Found>['items']

export class IngestionClient {
  readonly #url: string
  readonly #token: string

  constructor({ url, token }: { readonly url: string; readonly token: string }) {
    this.#url = url
    this.#token = token
  }

  /** Returns the response whatever its status is. */
  ask(path: string, request: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' }
    return fetch(this.#url + path, { headers, ...request })
  }

  askForUpload(kbId: string, request: unknown): Promise<Response> {
    const body = JSON.stringify(request)
    return this.ask(`/api/kb/${kbId}/upload-url`, { method: 'POST', body })
  }

  async mint(kbId: string, filename: string, content: Uint8Array): Promise<Minted> {
    const answer = await this.askForUpload(kbId, { filename, fileSize: content.byteLength })
    return Minted.parse(await expected(answer, 201))
  }

  /** Requests a URL, uploads to it, and resolves to the id of the document. */
  async upload(kbId: string, filename: string, content: Uint8Array): Promise<string> {
    const minted = await this.mint(kbId, filename, content)
    const answer = await send(minted, content)
    if (!answer.ok) throw new Error(`The upload failed with status ${answer.status}.`)
    return minted.documentId
  }

  async document(kbId: string, documentId: string): Promise<DocumentView> {
    const answer = await this.ask(`/api/kb/${kbId}/documents/${documentId}`)
    return DocumentView.parse(await expected(answer, 200))
  }

  async search(kbId: string, question: string): Promise<Found> {
    const answer = await this.ask(`/api/kb/${kbId}/search?q=${encodeURIComponent(question)}`)
    return Found.parse(await expected(answer, 200)).items
  }

  /** Polls until the document matches. */
  until(
    kbId: string,
    documentId: string,
    isWanted: (document: DocumentView) => boolean,
  ): Promise<DocumentView> {
    return untilMatching(
      () => this.document(kbId, documentId),
      isWanted,
      `${documentId} has the expected state`,
    )
  }

  ended(kbId: string, documentId: string): Promise<DocumentView> {
    return this.until(kbId, documentId, ({ status }) => status === 'ready' || status === 'failed')
  }
}

/** Uploads as the API's response describes. */
export function send({ uploadUrl, upload }: Minted, content: Uint8Array): Promise<Response> {
  const bytes = new Uint8Array(content)
  if (upload.method === 'PUT') {
    return fetch(uploadUrl, { method: 'PUT', headers: upload.headers, body: bytes })
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(upload.fields)) form.append(name, value)
  form.append('file', new Blob([bytes]))
  return fetch(uploadUrl, { method: 'POST', body: form })
}

async function expected(answer: Response, status: number): Promise<unknown> {
  if (answer.status === status) return answer.json()
  throw new Error(`${answer.url} returned ${answer.status}: ${await answer.text()}`)
}
