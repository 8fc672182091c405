/**
 * The settings of this system, read from the environment and checked once. The specification defines the names
 * and defaults of the first group.
 */
import { z } from 'zod'
import { type ClaudeSettings, claudeSettingsOf, claudeVariables } from '../shared/claude.ts'
import { readVariables } from '../shared/read-variables.ts'

const whole = (fallback: number, least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'expected a whole number')
    .transform(Number)
    .pipe(z.number().min(least).max(most))
    .prefault(String(fallback))

/** Settings that the declaration of the queues depends on. */
const queueVariables = z.object({
  JOB_QUEUE_DEFAULT_ATTEMPTS: whole(3, 1, 1_000),
  JOB_QUEUE_DEFAULT_BACKOFF_MS: whole(5_000, 0, 3_600_000),
  JOB_QUEUE_COURSE_GEN_CONCURRENCY: whole(2, 1, 1_000),
  JOB_QUEUE_COURSE_GEN_LIMITER_MS: whole(2_000, 100, 86_400_000),
  /** The lease of a job: how soon another worker takes it after a crash. */
  JOB_QUEUE_LEASE_MS: whole(30_000, 1_000, 43_200_000),
  /** The time zone of the nightly clean-up. */
  JOB_QUEUE_CLEANUP_ZONE: z.string().min(1).default('UTC'),
})

const variables = queueVariables.extend({
  JOB_QUEUE_WORKER_CONCURRENCY: whole(5, 1, 1_000),
  /** Redis would keep this many completed jobs. The embedded store keeps none of their messages. */
  JOB_QUEUE_REMOVE_ON_COMPLETE: whole(10, 0, 1_000_000),
  /** How many dead letters the daily clean-up keeps. */
  JOB_QUEUE_REMOVE_ON_FAIL: whole(50, 0, 1_000_000),
  /** Accepted so that a deployment can keep its settings. The embedded store does not connect to Redis. */
  REDIS_URL: z.string().optional(),

  /** The store: the URL of a Postgres database, or a folder. Default: DATA_DIR. */
  MILLRACE_STORE: z.string().optional(),
  DATA_DIR: z.string().min(1).default('.millrace/job-queue'),
  PORT: whole(0, 0, 65_535),
  SMTP_URL: z.url({ protocol: /^smtps?$/ }).default('smtp://127.0.0.1:1025'),
  MAIL_FROM: z.email().default('no-reply@academy.example'),
  /** Signs the tokens of callers. */
  JWT_SECRET: z.string().min(32),
  /** Without a key, an offline stub is used. */
  ...claudeVariables,
})

export type QueueSettings = ReturnType<typeof readQueueSettings>

export interface Environment extends QueueSettings {
  readonly workerConcurrency: number
  readonly deadLettersKept: number
  readonly store: string
  readonly dataDirectory: string
  readonly port: number
  readonly smtpUrl: string
  readonly mailFrom: string
  readonly jwtSecret: string
  readonly claude: ClaudeSettings | null
}

/** Only the settings of the declaration, without secrets, for commands that read the app. */
export function readQueueSettings(from: NodeJS.ProcessEnv = process.env) {
  return queueSettingsOf(readVariables(queueVariables, from))
}

function queueSettingsOf(data: z.infer<typeof queueVariables>) {
  return {
    attempts: data.JOB_QUEUE_DEFAULT_ATTEMPTS,
    backoffMs: data.JOB_QUEUE_DEFAULT_BACKOFF_MS,
    courseConcurrency: data.JOB_QUEUE_COURSE_GEN_CONCURRENCY,
    courseLimiterMs: data.JOB_QUEUE_COURSE_GEN_LIMITER_MS,
    leaseMs: data.JOB_QUEUE_LEASE_MS,
    cleanupZone: data.JOB_QUEUE_CLEANUP_ZONE,
  } as const
}

export function readEnvironment(from: NodeJS.ProcessEnv = process.env): Environment {
  const data = readVariables(variables, from)
  return {
    ...queueSettingsOf(data),
    workerConcurrency: data.JOB_QUEUE_WORKER_CONCURRENCY,
    deadLettersKept: data.JOB_QUEUE_REMOVE_ON_FAIL,
    store: data.MILLRACE_STORE ?? data.DATA_DIR,
    dataDirectory: data.DATA_DIR,
    port: data.PORT,
    smtpUrl: data.SMTP_URL,
    mailFrom: data.MAIL_FROM,
    jwtSecret: data.JWT_SECRET,
    claude: claudeSettingsOf(data),
  }
}
