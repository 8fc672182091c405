/** Opens what every function of the backend needs: settings, stores, and a sender for the queues. */
import { SQSClient } from '@aws-sdk/client-sqs'
import { type SqsSender, type SqsSenderOptions, sqsSender } from 'millrace'
import { tutoring } from './app.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { openStores, type Stores } from './stores/stores.ts'

/** Sends to the queues of the app, with the AWS SDK. A message is checked against its schema first. */
export type QueueSender = SqsSender<typeof tutoring>

export interface Backend extends Disposable {
  readonly environment: Environment
  readonly stores: Stores
  readonly client: SQSClient
  readonly sender: QueueSender
}

export function openBackend(variables: NodeJS.ProcessEnv = process.env): Backend {
  const environment = readEnvironment(variables)
  const stores = openStores(environment)
  // Credentials come from the environment, as in Lambda. The queue URLs contain the endpoint.
  const client = new SQSClient({
    region: variables['AWS_REGION'] ?? 'us-east-1',
    endpoint: new URL(environment.SQS_ATTEMPT_STREAM_URL).origin,
  })
  return {
    environment,
    stores,
    client,
    sender: sqsSender(tutoring, { client, urls: queueUrls(environment) }),
    [Symbol.dispose]() {
      client.destroy()
      stores[Symbol.dispose]()
    },
  }
}

/** The names of the variables are specified, so they are not those that Millrace derives from the keys. */
function queueUrls(
  environment: Environment,
): NonNullable<SqsSenderOptions<typeof tutoring>['urls']> {
  return {
    attemptStream: environment.SQS_ATTEMPT_STREAM_URL,
    llmClassifyQueue: environment.SQS_LLM_CLASSIFY_URL,
    ocrQueue: environment.SQS_OCR_QUEUE_URL,
    guideIngestQueue: environment.SQS_GUIDE_INGEST_URL,
    solutionGenerationQueue: environment.SQS_SOLUTION_GEN_URL,
    submissionGradeQueue: environment.SQS_SUBMISSION_GRADE_URL,
    exerciseGenerateQueue: environment.SQS_EXERCISE_GENERATE_URL,
  }
}
