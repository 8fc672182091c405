/** attemptReprocessWorker: stores what the AI engine has read from photos. */
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { messageCodec } from 'millrace'
import { tutoring } from '../app.ts'
import { openBackend } from '../open-backend.ts'
import { type ReprocessingParts, reprocessAttempt } from '../services/reprocess-attempt.ts'
import { eachRecord } from './batch-response.ts'

type Worker = (event: SQSEvent) => Promise<SQSBatchResponse>

const codec = messageCodec(tutoring.queues.attemptReprocessQueue)

export function attemptReprocessWorker(parts: ReprocessingParts): Worker {
  return (event) =>
    eachRecord(event, async ({ body }) => {
      await reprocessAttempt(parts, await codec.decode(body))
    })
}

let worker: Worker | undefined

export const handler: Worker = (event) => {
  worker ??= attemptReprocessWorker(openBackend())
  return worker(event)
}
