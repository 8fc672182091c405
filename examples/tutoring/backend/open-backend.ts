/** Opens what every function of the backend needs: settings, stores, and a sender for the queues. */
import { SQSClient } from '@aws-sdk/client-sqs'
import { type Environment, readEnvironment } from './environment.ts'
import { type QueueSender, queueSender } from './services/queue-sender.ts'
import { openStores, type Stores } from './stores/stores.ts'

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
    sender: queueSender(client, environment),
    [Symbol.dispose]() {
      client.destroy()
      stores[Symbol.dispose]()
    },
  }
}
