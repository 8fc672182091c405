/**
 * Empties the attempt-reprocess-queue without Lambda: polls it and calls the service of
 * attemptReprocessWorker directly. It ends when the queue has nothing more to give; with `--watch` it
 * goes on until it is stopped.
 */
import { DeleteMessageCommand, type Message, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { messageCodec } from '../../../src/index.ts'
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

/** A message that fails is left alone and comes again; five receives make it a dead letter. */
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
  if (!stopping.signal.aborted) throw error
} finally {
  backend[Symbol.dispose]()
}
