/**
 * Consumes the attempt-reprocess-queue without Lambda: it polls the queue and calls the service of
 * attemptReprocessWorker directly. It exits when the queue is empty; with `--watch` it continues until it is
 * stopped.
 */
import { DeleteMessageCommand, type Message, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { messageCodec } from 'millrace'
import { tutoring } from '../backend/app.ts'
import { type Backend, openBackend } from '../backend/open-backend.ts'
import { reprocessAttempt } from '../backend/services/reprocess-attempt.ts'

const codec = messageCodec(tutoring.queues.attemptReprocessQueue)

async function receive(backend: Backend, signal: AbortSignal): Promise<readonly Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: backend.environment.SQS_ATTEMPT_REPROCESS_URL,
    MaxNumberOfMessages: 10,
    WaitTimeSeconds: 1,
  })
  const { Messages = [] } = await backend.client.send(command, { abortSignal: signal })
  return Messages
}

/** A failed message becomes visible again, and is a dead letter after five receives. */
async function reprocess(backend: Backend, message: Message): Promise<void> {
  const { Body = '', MessageId, ReceiptHandle } = message
  const QueueUrl = backend.environment.SQS_ATTEMPT_REPROCESS_URL
  try {
    const attempt = await reprocessAttempt(backend, await codec.decode(Body))
    await backend.client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
    console.log(`message ${MessageId}: attempt ${attempt.id}, ${attempt.inputMode}`)
  } catch (error) {
    console.error(`message ${MessageId} failed: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}

/** Explains missing queues, credentials or servers. Any other error is a defect and keeps its stack. */
function whyStopped(error: unknown, url: string): string {
  const { name, code, stack, message } = error as NodeJS.ErrnoException
  if (name === 'QueueDoesNotExist') {
    const create = 'npx node src/cli.ts up examples/tutoring/serverless.yml'
    return `The queue ${url} does not exist. Create the queues of the template first: ${create}`
  }
  if (name === 'CredentialsProviderError') {
    return 'AWS credentials are missing. Copy examples/tutoring/.env.example to .env beside it.'
  }
  if (code === 'ECONNREFUSED') {
    return `No server listens at ${new URL(url).origin}. Start one first: npm start`
  }
  return stack ?? message
}

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
const backend = openBackend()
const isWatching = process.argv.includes('--watch')
try {
  for (let isMore = true; isMore && !stopping.signal.aborted; ) {
    const messages = await receive(backend, stopping.signal)
    for (const message of messages) await reprocess(backend, message)
    isMore = isWatching || messages.length > 0
  }
} catch (error) {
  if (!stopping.signal.aborted) {
    console.error(`error: ${whyStopped(error, backend.environment.SQS_ATTEMPT_REPROCESS_URL)}`)
    process.exitCode = 1
  }
} finally {
  backend[Symbol.dispose]()
}
