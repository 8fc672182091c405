/** An object has come to exist: the document that it belongs to is handed to the runtime. */
import type { IngestJob } from '../app.ts'
import type { DocumentRecord, Library } from '../records/library.ts'
import type { Runtime } from './runtime.ts'

export function ingestJobOf(document: DocumentRecord): IngestJob {
  const { id, organizationId, kbId, sourceObjectKey, sourceExt, extractorModel } = document
  return { documentId: id, organizationId, kbId, sourceObjectKey, sourceExt, extractorModel }
}

/** False when the object belongs to no document that waits for one; events may come twice. */
export async function objectCreated(
  { library, runtime }: { readonly library: Library; readonly runtime: Runtime },
  key: string,
): Promise<boolean> {
  const document = library.documentOf(key)
  if (document?.status !== 'pending') return false
  await runtime.submit(ingestJobOf(document))
  return true
}
