/** The environment of a local process of this system. */
const stack = 'innova-backend-serverless-dev'

/** As in serverless.yml and .env.example. */
const queues = {
  SQS_ATTEMPT_STREAM_URL: 'attempt-stream.fifo',
  SQS_LLM_CLASSIFY_URL: 'llm-classify-queue',
  SQS_OCR_QUEUE_URL: 'ocr-queue',
  SQS_ATTEMPT_REPROCESS_URL: 'attempt-reprocess-queue',
  SQS_GUIDE_INGEST_URL: 'guide-ingest-queue',
  SQS_SOLUTION_GEN_URL: 'solution-generation-queue',
  SQS_SUBMISSION_GRADE_URL: 'submission-grade-queue',
  SQS_EXERCISE_GENERATE_URL: 'exercise-generate-queue',
} as const

export const awsVariables = {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
} as const

export function queueUrl(endpoint: string, queue: string): string {
  return `${endpoint}/000000000000/${stack}-${queue}`
}

export function localVariables(endpoint: string): Readonly<Record<string, string>> {
  const urls = Object.entries(queues).map(([name, queue]) => [name, queueUrl(endpoint, queue)])
  return { ...awsVariables, ...Object.fromEntries(urls) }
}
