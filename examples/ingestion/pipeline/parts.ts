/** What the pipeline steps need, in both runtimes. */
import type { Embedder } from '../embedder/embedder.ts'
import type { Extractor } from '../extractor/extractor.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import type { Library } from '../records/library.ts'

export interface PipelineParts {
  readonly uploads: ObjectStore
  readonly cache: ObjectStore
  readonly library: Library
  readonly extractor: Extractor
  readonly embedder: Embedder
}

export interface DocumentJob {
  readonly documentId: string
  readonly organizationId: string
  readonly kbId: string
}
