/**
 * The environment of the backend's functions. The names of the queue URLs are specified. Their defaults are those
 * of LocalStack and `npm start`.
 */
import { z } from 'zod'

const local = 'http://localhost:4566/000000000000/innova-backend-serverless-dev'
const url = (queue: string) => z.url({ protocol: /^https?$/ }).default(`${local}-${queue}`)
const Variables = z.object({
  SQS_ATTEMPT_STREAM_URL: url('attempt-stream.fifo'),
  SQS_LLM_CLASSIFY_URL: url('llm-classify-queue'),
  SQS_OCR_QUEUE_URL: url('ocr-queue'),
  SQS_ATTEMPT_REPROCESS_URL: url('attempt-reprocess-queue'),
  SQS_GUIDE_INGEST_URL: url('guide-ingest-queue'),
  SQS_SOLUTION_GEN_URL: url('solution-generation-queue'),
  SQS_SUBMISSION_GRADE_URL: url('submission-grade-queue'),
  SQS_EXERCISE_GENERATE_URL: url('exercise-generate-queue'),

  DATABASE_FILE: z.string().min(1).default('.millrace/tutoring/innova.db'),
  TELEMETRY_FILE: z.string().min(1).default('.millrace/tutoring/telemetry.db'),
  ANTHROPIC_API_KEY: z.string().default(''),
  ANTHROPIC_BASE_URL: z.url().default('https://api.anthropic.com'),
  ANTHROPIC_MODEL: z.string().min(1).default('claude-sonnet-5-5'),
  /** The folder or the URL of the store that counts the model's budget. Without one, nothing is counted. */
  LLM_BUDGET_STORE: z
    .string()
    .transform((store) => store || undefined)
    .optional(),
})

export type Environment = z.infer<typeof Variables>

export function readEnvironment(from: NodeJS.ProcessEnv = process.env): Environment {
  const { success, data, error } = Variables.safeParse(from)
  if (success) return data
  // Names and rules only, because a value may be a key.
  const faults = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new Error(`The environment of the backend is not valid. ${faults.join('; ')}`)
}
