/** Passes the document of a new object to the runtime. */
import type { IngestJob } from '../app.ts'
import type { DocumentRecord, Library } from '../records/library.ts'
import type { Runtime } from './runtime.ts'

export function ingestJobOf(document: DocumentRecord): IngestJob {
  const { id, organizationId, kbId, sourceObjectKey, sourceExt, extractorModel } = document
  return { documentId: id, organizationId, kbId, sourceObjectKey, sourceExt, extractorModel }
}

/** False if no document waits for the object. Events may arrive twice. */
export async function objectCreated(
  { library, runtime }: { readonly library: Library; readonly runtime: Runtime },
  key: string,
): Promise<boolean> {
  const document = await library.documentOf(key)
  if (document?.status !== 'pending') return false
  await runtime.submit(ingestJobOf(document))
  return true
}
