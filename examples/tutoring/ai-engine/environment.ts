/** The environment of the AI engine: queue URLs, the database and the bucket. It knows nothing else of the backend. */
import { z } from 'zod'

const url = z.url({ protocol: /^https?$/ })
const isOn = z
  .enum(['true', '1', 'on', 'yes', 'false', '0', 'off', 'no', ''])
  .default('false')
  .transform((word) => /^(?:true|1|on|yes)$/.test(word))

const Variables = z.object({
  SQS_GUIDE_INGEST_URL: url,
  SQS_SOLUTION_GEN_URL: url,
  SQS_SUBMISSION_GRADE_URL: url,
  SQS_EXERCISE_GENERATE_URL: url,
  SQS_OCR_QUEUE_URL: url,
  SQS_ATTEMPT_REPROCESS_URL: url,
  AWS_REGION: z.string().default('us-east-1'),
  DATABASE_FILE: z.string().default('.millrace/tutoring/innova.db'),
  /** A folder instead of the S3 bucket; keys are paths in it. */
  BUCKET_FOLDER: z.string().default('.millrace/tutoring/bucket'),
  LLM_PAUSED: isOn,
  OCR_PAUSED: isOn,
})
export type EngineEnvironment = z.infer<typeof Variables>

export function readEngineEnvironment(from: NodeJS.ProcessEnv = process.env): EngineEnvironment {
  const checked = Variables.safeParse(from)
  if (checked.success) return checked.data
  const names = checked.error.issues.map(({ path }) => path.join('.'))
  throw new Error(`The AI engine needs valid values for ${names.join(', ')}.`)
}
