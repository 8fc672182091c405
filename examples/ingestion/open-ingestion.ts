/** Opens what every process uses: queues, tables, objects and the extractor. */
import { createHmac } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Logger, MillraceError, type OpenOptions, open, systemPorts } from 'millrace'
import { type IngestionMill, ingestionApp } from './app.ts'
import { type Embedder, offlineEmbedder } from './embedder/embedder.ts'
import type { Environment } from './environment.ts'
import type { Extractor } from './extractor/extractor.ts'
import { offlineExtractor } from './extractor/offline-extractor.ts'
import { FileObjectStore } from './objects/file-object-store.ts'
import { UploadSigner } from './objects/upload-signature.ts'
import type { PipelineParts } from './pipeline/parts.ts'
import { Library } from './records/library.ts'
import type { Tables } from './records/tables.ts'

export interface Ingestion extends PipelineParts, AsyncDisposable {
  readonly environment: Environment
  readonly mill: IngestionMill
  readonly signer: UploadSigner
  /** Set if browsers upload to our own server. */
  readonly uploadFolder: FileObjectStore | undefined
  readonly now: () => number
  readonly log: Logger
  /** The URL of the API; set once it listens. */
  publicUrl: string
}

export async function openIngestion(
  environment: Environment,
  log: Logger,
  options: Pick<OpenOptions, 'ports' | 'store'> = {},
): Promise<Ingestion> {
  const folder = environment.INGESTION_DATA
  await mkdir(folder, { recursive: true })
  const store = environment.MILLRACE_STORE ?? join(folder, 'queues')
  const mill = await open(ingestionApp(environment), {
    store,
    log,
    onNotice: (notice) => {
      const { kind } = notice
      // Millrace logs alarms itself.
      if (kind !== 'alarm') log.error({ kind, code: codeIn(notice) }, 'background error')
    },
    ...options,
  })
  const { clock } = options.ports ?? systemPorts
  const now = (): number => clock.now()
  const tables = await tablesIn(mill.storeFile ?? store)
  const library = new Library({ tables, now })
  const signer = new UploadSigner({ secret: keyFor(environment, 'uploads'), now })
  const ingestion: Ingestion = {
    environment,
    mill,
    library,
    signer,
    ...(await objectStores(environment, { signer, now, url: () => ingestion.publicUrl })),
    extractor: await extractorOf(environment),
    embedder: await embedderOf(environment),
    now,
    log,
    publicUrl: environment.PUBLIC_URL ?? '',
    async [Symbol.asyncDispose]() {
      await mill.close()
      await tables[Symbol.asyncDispose]()
    },
  }
  return ingestion
}

/** Loads only the driver of this database: the file of the embedded store, or the URL of the other. */
async function tablesIn(database: string): Promise<Tables> {
  if (database.includes('://')) {
    return (await import('./records/postgres-tables.ts')).postgresTables(database)
  }
  return (await import('./records/sqlite-tables.ts')).sqliteTables(database)
}

/** Derives a separate key for each use of the secret. */
export function keyFor({ INGESTION_SECRET }: Environment, use: 'uploads' | 'tokens'): string {
  return createHmac('sha256', INGESTION_SECRET).update(use).digest('base64url')
}

interface UploadParts {
  readonly signer: UploadSigner
  readonly url: () => string
  readonly now: () => number
}

/** Loads only the configured store. */
async function objectStores(
  environment: Environment,
  uploads: UploadParts,
): Promise<Pick<Ingestion, 'uploads' | 'cache' | 'uploadFolder'>> {
  const { UPLOADS_BUCKET, CACHE_BUCKET, INGESTION_DATA: folder } = environment
  if (UPLOADS_BUCKET === undefined || CACHE_BUCKET === undefined) {
    const uploadFolder = new FileObjectStore({ folder: join(folder, 'uploads'), uploads })
    const cache = new FileObjectStore({ folder: join(folder, 'cache') })
    return { uploads: uploadFolder, cache, uploadFolder }
  }
  const { s3Stores } = await import('./objects/s3-object-store.ts')
  const { AWS_REGION: region, S3_ENDPOINT: endpoint } = environment
  const inBucket = s3Stores({ region, endpoint })
  return {
    uploads: inBucket(UPLOADS_BUCKET),
    cache: inBucket(CACHE_BUCKET),
    uploadFolder: undefined,
  }
}

async function extractorOf(environment: Environment): Promise<Extractor> {
  const { INGESTION_EXTRACTOR, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL } = environment
  if (INGESTION_EXTRACTOR === 'offline') return offlineExtractor
  const { claudeExtractor } = await import('./extractor/claude-extractor.ts')
  return claudeExtractor({
    // `readEnvironment` has checked that it is set.
    apiKey: ANTHROPIC_API_KEY ?? '',
    ...(ANTHROPIC_BASE_URL !== undefined && { baseUrl: ANTHROPIC_BASE_URL }),
  })
}

async function embedderOf(environment: Environment): Promise<Embedder> {
  const { INGESTION_EMBEDDER, EMBEDDINGS_URL, EMBEDDINGS_API_KEY, EMBEDDINGS_MODEL } = environment
  if (INGESTION_EMBEDDER === 'offline') return offlineEmbedder
  const { httpEmbedder } = await import('./embedder/http-embedder.ts')
  return httpEmbedder({
    baseUrl: EMBEDDINGS_URL,
    // `readEnvironment` has checked that it is set.
    apiKey: EMBEDDINGS_API_KEY ?? '',
    model: EMBEDDINGS_MODEL,
  })
}

/** The code of an error and not its message, which may contain user data. */
function codeIn(notice: object): string {
  const error = 'error' in notice ? notice.error : undefined
  return error instanceof MillraceError ? error.code : 'none'
}
