/** attemptReprocessWorker: stores what the AI engine has read from photos. */
import { type LambdaHandler, lambdaHandler } from 'millrace'
import { tutoring } from '../app.ts'
import { openBackend } from '../open-backend.ts'
import { type ReprocessingParts, reprocessAttempt } from '../services/reprocess-attempt.ts'

export function attemptReprocessWorker(parts: ReprocessingParts): LambdaHandler {
  return lambdaHandler(tutoring, 'attemptReprocessQueue', (message) =>
    reprocessAttempt(parts, message),
  )
}

let worker: LambdaHandler | undefined

export const handler: LambdaHandler = (event, context) => {
  worker ??= attemptReprocessWorker(openBackend())
  return worker(event, context)
}
