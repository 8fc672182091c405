/** telemetryWorker: stores the events of attempts in order and once. */
import { type LambdaHandler, lambdaHandler } from 'millrace'
import { tutoring } from '../app.ts'
import { openBackend } from '../open-backend.ts'
import type { Telemetry } from '../stores/telemetry.ts'

export function telemetryWorker(telemetry: Telemetry): LambdaHandler {
  return lambdaHandler(tutoring, 'attemptStream', (event, { record }) => {
    const { MessageDeduplicationId, SequenceNumber = '' } = record.attributes
    telemetry.add(event, {
      deduplicationId: MessageDeduplicationId ?? record.messageId,
      sequence: SequenceNumber,
    })
  })
}

let worker: LambdaHandler | undefined

/** The stores are opened for the first event and stay open. */
export const handler: LambdaHandler = (event, context) => {
  worker ??= telemetryWorker(openBackend().stores.telemetry)
  return worker(event, context)
}
