/** telemetryWorker: stores the events of attempts in order and once. */
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { messageCodec } from 'millrace'
import { tutoring } from '../app.ts'
import { openBackend } from '../open-backend.ts'
import type { Telemetry } from '../stores/telemetry.ts'
import { inOrder } from './batch-response.ts'

type Worker = (event: SQSEvent) => Promise<SQSBatchResponse>

const codec = messageCodec(tutoring.queues.attemptStream)

export function telemetryWorker(telemetry: Telemetry): Worker {
  return (event) =>
    inOrder(event, async ({ body, messageId, attributes }) => {
      const { MessageDeduplicationId, SequenceNumber = '' } = attributes
      const position = {
        deduplicationId: MessageDeduplicationId ?? messageId,
        sequence: SequenceNumber,
      }
      telemetry.add(await codec.decode(body), position)
    })
}

let worker: Worker | undefined

/** The stores are opened for the first event and stay open. */
export const handler: Worker = (event) => {
  worker ??= telemetryWorker(openBackend().stores.telemetry)
  return worker(event)
}
