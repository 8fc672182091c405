/**
 * The app: a queue of videos, AI jobs in three tiers, their message schemas, which tier runs which job types,
 * and the alarms.
 */

import { alarm, defineApp, jobs, queue } from 'millrace'
import { z } from 'zod'
import type { Environment } from './environment.ts'
import { fileKey } from './storage.ts'

const FileKey = z.string().regex(fileKey).max(512)

export const VideoJob = z.strictObject({
  video_id: z.int().positive(),
  file_key: FileKey,
  tenant_code: z.string().regex(/^[\w-]{1,64}$/),
})
export type VideoJob = z.infer<typeof VideoJob>

export const tierNames = ['lite', 'basic', 'premium'] as const
export type TierName = (typeof tierNames)[number]

/** The fields that all AI jobs share. */
function envelope<Type extends string>(jobType: Type) {
  return z.strictObject({
    job_id: z.uuid(),
    job_type: z.literal(jobType),
    tier: z.enum(tierNames),
    payload: z.strictObject({ file_key: FileKey }),
    tenant_id: z.int().positive(),
    source_domain: z.string().min(1).max(64),
    source_id: z.string().min(1).max(64),
    created_at: z.iso.datetime(),
    /** How often the client submitted it before. The queue counts attempts itself. */
    attempt: z.int().nonnegative(),
  })
}

const OCR = envelope('OCR')
const OMR = envelope('OMR')
const STATUS_DETECTION = envelope('STATUS_DETECTION')
export type AiJob = z.infer<typeof OCR | typeof OMR | typeof STATUS_DETECTION>
export type AiJobType = AiJob['job_type']

/** The timeout of an attempt. It is shorter than the visibility timeout: see `openRecords`. */
export const attemptTimeout = { seconds: 240 } as const

export const defaultTier = { OCR: 'lite', OMR: 'basic', STATUS_DETECTION: 'basic' } as const

/** Settings of all four queues. */
const shared = {
  visibilityTimeout: '5m',
  retention: '14d',
  timeout: attemptTimeout,
  backoff: { from: '1s', max: '1m' },
} as const

export function createAcademy(names: Environment) {
  const { AI_SQS_QUEUE_NAME_LITE, AI_SQS_QUEUE_NAME_BASIC, AI_SQS_QUEUE_NAME_PREMIUM } = names
  const ai = { ...shared, attempts: 3, deadLetter: {} } as const
  return defineApp('academy', {
    queues: {
      video: queue({
        ...shared,
        schema: VideoJob,
        name: names.VIDEO_SQS_QUEUE_NAME,
        deadLetter: { after: 3, name: names.VIDEO_SQS_DLQ_NAME },
      }),
      lite: jobs({ ...ai, types: { OCR }, name: AI_SQS_QUEUE_NAME_LITE }),
      basic: jobs({ ...ai, types: { OCR, OMR, STATUS_DETECTION }, name: AI_SQS_QUEUE_NAME_BASIC }),
      premium: jobs({
        ...ai,
        types: { OCR, OMR, STATUS_DETECTION },
        name: AI_SQS_QUEUE_NAME_PREMIUM,
      }),
    },
    tiers: {
      lite: { queue: 'lite', allows: ['OCR'] },
      basic: { queue: 'basic', allows: ['OCR', 'OMR', 'STATUS_DETECTION'] },
      premium: { queue: 'premium', allows: ['OCR', 'OMR', 'STATUS_DETECTION'] },
    },
    defaultTier,
    alarms: [
      alarm.dead('*').above(10),
      alarm.depth('*').above(1000),
      alarm.errorRate('*').above(0.05),
    ],
  })
}

export type Academy = ReturnType<typeof createAcademy>
