/** The settings of this system, read from the environment and checked once. */
import { z } from 'zod'
import { readVariables } from '../shared/read-variables.ts'

const whole = (fallback: number, least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).default(fallback)

const Bucket = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'expected a bucket name')

/** Settings that the declaration of the queues depends on. */
const QueueVariables = z.object({
  /** How many units are extracted at once, across all workers. */
  EXTRACT_CONCURRENCY: whole(3, 1, 100),
  /** The wait before a failed job is retried; it doubles each time. */
  INGESTION_RETRY_MS: whole(10_000, 0, 3_600_000),
})
export type QueueSettings = z.infer<typeof QueueVariables>

const Variables = z
  .object({
    ...QueueVariables.shape,
    /** Where documents are processed: in workers through the queues, or in the API process. */
    INGESTION_RUNTIME: z.enum(['worker', 'inline']).default('worker'),
    /** The store of the queues and tables: the URL of a Postgres database, or a folder. Default: in INGESTION_DATA. */
    MILLRACE_STORE: z.string().optional(),
    /** The folder of queues, tables, uploads and cache, shared by all processes. */
    INGESTION_DATA: z.string().min(1).default('.millrace/ingestion'),
    /** Signs the tokens of callers and the upload URLs. */
    INGESTION_SECRET: z.string().min(32),
    PORT: whole(0, 0, 65_535),
    /** The URL that browsers use for the API. Default: the address it listens on. */
    PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),

    INGESTION_EXTRACTOR: z.enum(['offline', 'claude']).default('offline'),
    EXTRACTOR_MODEL: z.string().min(1).max(100).default('claude-haiku-4-5'),
    ANTHROPIC_API_KEY: z.string().min(1).optional(),
    ANTHROPIC_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
    /** How vectors are computed: offline feature hashing, or a service with OpenAI's `/v1/embeddings`. */
    INGESTION_EMBEDDER: z.enum(['offline', 'http']).default('offline'),
    EMBEDDINGS_URL: z.url({ protocol: /^https?$/ }).default('https://api.openai.com'),
    EMBEDDINGS_API_KEY: z.string().min(1).optional(),
    EMBEDDINGS_MODEL: z.string().min(1).max(100).default('text-embedding-3-small'),

    /** With both, objects are stored in S3 instead of files. */
    UPLOADS_BUCKET: Bucket.optional(),
    CACHE_BUCKET: Bucket.optional(),
    AWS_REGION: z.string().default('us-east-1'),
    /** The bearer token of S3's notifications to `/events/object-created`. */
    EVENTS_SECRET: z.string().min(32).optional(),
    /** For services that are compatible with S3. */
    S3_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  })
  .refine((all) => all.INGESTION_EXTRACTOR === 'offline' || all.ANTHROPIC_API_KEY !== undefined, {
    path: ['ANTHROPIC_API_KEY'],
    error: 'required by the extractor claude',
  })
  .refine((all) => all.INGESTION_EMBEDDER === 'offline' || all.EMBEDDINGS_API_KEY !== undefined, {
    path: ['EMBEDDINGS_API_KEY'],
    error: 'required by the embedder http',
  })
  .refine((all) => (all.UPLOADS_BUCKET === undefined) === (all.CACHE_BUCKET === undefined), {
    path: ['CACHE_BUCKET'],
    error: 'expected both buckets or none',
  })

export type Environment = z.infer<typeof Variables>

/** Only the settings of the declaration, without secrets, for commands that read the app. */
export function readQueueSettings(variables: NodeJS.ProcessEnv = process.env): QueueSettings {
  return readVariables(QueueVariables, variables)
}

/** Throws one error that names every wrong variable, without its value. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  return readVariables(Variables, variables)
}
