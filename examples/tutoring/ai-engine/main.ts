/**
 * The AI engine: a separate process that consumes the backend's queues and creates none. It uses only queue URLs
 * and the AWS SDK. Where a real engine would call models, this one computes.
 */
import { once } from 'node:events'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { bucketIn } from './bucket.ts'
import { startConsumer } from './consumer.ts'
import { openEngineDatabase } from './engine-database.ts'
import { readEngineEnvironment } from './environment.ts'
import { photoReader } from './read-photo.ts'
import * as tasks from './tasks.ts'

const environment = readEngineEnvironment()
const client = new SQSClient({
  region: environment.AWS_REGION,
  endpoint: new URL(environment.SQS_ATTEMPT_REPROCESS_URL).origin,
})
const parts: tasks.TaskParts = {
  database: openEngineDatabase(environment.DATABASE_FILE),
  bucket: bucketIn(environment.BUCKET_FOLDER),
  reader: photoReader(),
  async reprocess(message) {
    const QueueUrl = environment.SQS_ATTEMPT_REPROCESS_URL
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(message) }))
  },
}
const llm = environment.LLM_PAUSED ? 'LLM_PAUSED' : undefined
const ocr = environment.OCR_PAUSED ? 'OCR_PAUSED' : undefined
const work = [
  ['guide-ingest', environment.SQS_GUIDE_INGEST_URL, llm, tasks.ingestGuide],
  ['solution-generation', environment.SQS_SOLUTION_GEN_URL, llm, tasks.generateSolutions],
  ['exercise-generate', environment.SQS_EXERCISE_GENERATE_URL, llm, tasks.generateExercises],
  ['submission-grade', environment.SQS_SUBMISSION_GRADE_URL, ocr, tasks.gradeSubmission],
  ['ocr', environment.SQS_OCR_QUEUE_URL, ocr, tasks.readAttemptPhoto],
] as const

const consumers = work.map(([name, queueUrl, pausedBy, task]) =>
  startConsumer({
    client,
    queueUrl,
    name,
    pausedBy,
    handle: (body) => task(parts, body),
    log: (line) => console.log(`ai-engine ${line}`),
  }),
)
console.log(`ai-engine consumes ${work.length} queues`)

await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
await Promise.all(consumers.map((consumer) => consumer.stop()))
await parts.reader[Symbol.asyncDispose]()
parts.database[Symbol.dispose]()
client.destroy()
