/** The settings of this system, read from the environment once and checked. */
import { z } from 'zod'
import { readVariables } from '../shared/read-variables.ts'

const whole = (fallback: number, least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).default(fallback)

const Bucket = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'expected a name of a bucket')

/** What the declaration of the queues depends on. */
const QueueVariables = z.object({
  /** Units that are extracted at once, in all workers together. */
  EXTRACT_CONCURRENCY: whole(3, 1, 100),
  /** The wait before a failed job is tried again; it doubles. */
  INGESTION_RETRY_MS: whole(10_000, 0, 3_600_000),
})
export type QueueSettings = z.infer<typeof QueueVariables>

const Variables = z
  .object({
    ...QueueVariables.shape,
    /** Who runs the stages: workers by way of the queues, or the API process itself. */
    INGESTION_RUNTIME: z.enum(['worker', 'inline']).default('worker'),
    /** Queues, tables, uploads and cache of all processes. */
    INGESTION_DATA: z.string().min(1).default('.millrace/ingestion'),
    /** Signs the tokens of callers and the addresses of uploads. */
    INGESTION_SECRET: z.string().min(32),
    PORT: whole(0, 0, 65_535),
    /** How browsers reach the API. Default: where it listens. */
    PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),

    INGESTION_EXTRACTOR: z.enum(['offline', 'claude']).default('offline'),
    EXTRACTOR_MODEL: z.string().min(1).max(100).default('claude-haiku-4-5'),
    ANTHROPIC_API_KEY: z.string().min(1).optional(),
    ANTHROPIC_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
    /** What makes vectors: feature hashing, or a service that speaks OpenAI's `/v1/embeddings`. */
    INGESTION_EMBEDDER: z.enum(['offline', 'http']).default('offline'),
    EMBEDDINGS_URL: z.url({ protocol: /^https?$/ }).default('https://api.openai.com'),
    EMBEDDINGS_API_KEY: z.string().min(1).optional(),
    EMBEDDINGS_MODEL: z.string().min(1).max(100).default('text-embedding-3-small'),

    /** With these two, objects are in S3 and not in files. */
    UPLOADS_BUCKET: Bucket.optional(),
    CACHE_BUCKET: Bucket.optional(),
    AWS_REGION: z.string().default('us-east-1'),
    /** What sends S3's notifications to `/events/object-created` has it as its bearer token. */
    EVENTS_SECRET: z.string().min(32).optional(),
    /** For what speaks the protocol of S3 and is not S3. */
    S3_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  })
  .refine((all) => all.INGESTION_EXTRACTOR === 'offline' || all.ANTHROPIC_API_KEY !== undefined, {
    path: ['ANTHROPIC_API_KEY'],
    error: 'needed by the extractor claude',
  })
  .refine((all) => all.INGESTION_EMBEDDER === 'offline' || all.EMBEDDINGS_API_KEY !== undefined, {
    path: ['EMBEDDINGS_API_KEY'],
    error: 'needed by the embedder http',
  })
  .refine((all) => (all.UPLOADS_BUCKET === undefined) === (all.CACHE_BUCKET === undefined), {
    path: ['CACHE_BUCKET'],
    error: 'expected both buckets or none',
  })

export type Environment = z.infer<typeof Variables>

/** Without what only processes need, such as secrets: for commands that take the declaration alone. */
export function readQueueSettings(variables: NodeJS.ProcessEnv = process.env): QueueSettings {
  return readVariables(QueueVariables, variables)
}

/** Throws one error that names every variable with a wrong value, and quotes none of the values. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  return readVariables(Variables, variables)
}
