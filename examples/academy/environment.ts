/** The academy's environment variables, with their defaults. */
import { z } from 'zod'
import { readVariables } from '../shared/read-variables.ts'

const QueueName = z.string().regex(/^[\w-]{1,80}$/, 'letters, digits, - and _, 80 at most')
const Weight = z.coerce.number().int().min(1).max(100)

const Variables = z
  .object({
    /** The AWS region of the queues. The embedded store is a file and does not use it. */
    AWS_REGION: z.string().default('ap-northeast-2'),
    VIDEO_SQS_QUEUE_NAME: QueueName.default('academy-video-jobs'),
    VIDEO_SQS_DLQ_NAME: QueueName.optional(),
    AI_SQS_QUEUE_NAME_LITE: QueueName.default('academy-ai-jobs-lite'),
    AI_SQS_QUEUE_NAME_BASIC: QueueName.default('academy-ai-jobs-basic'),
    AI_SQS_QUEUE_NAME_PREMIUM: QueueName.default('academy-ai-jobs-premium'),
    AI_WORKER_MODE: z.enum(['cpu', 'gpu']).default('cpu'),
    AI_WORKER_BASIC_POLL_WEIGHT: Weight.default(3),
    AI_WORKER_LITE_POLL_WEIGHT: Weight.default(1),
    /** The store of the queues: the URL of a Postgres database, or a folder. Default: part of ACADEMY_DATA. */
    MILLRACE_STORE: z.string().optional(),
    /** The folder of queues, job rows and files, shared by all processes. */
    ACADEMY_DATA: z.string().min(1).default('.millrace/academy'),
  })
  .transform((variables) => ({
    ...variables,
    VIDEO_SQS_DLQ_NAME: variables.VIDEO_SQS_DLQ_NAME ?? `${variables.VIDEO_SQS_QUEUE_NAME}-dlq`,
  }))

export type Environment = z.infer<typeof Variables>

/** Throws one error that names every wrong variable, without its value. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  return readVariables(Variables, variables)
}
