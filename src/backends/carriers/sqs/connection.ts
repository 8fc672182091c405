/** Calls of SQS by the AWS SDK, with errors of Millrace. */
import type {
  ChangeMessageVisibilityBatchCommandOutput,
  CreateQueueCommandOutput,
  DeleteMessageBatchCommandOutput,
  DeleteQueueCommandOutput,
  GetQueueAttributesCommandOutput,
  GetQueueUrlCommandOutput,
  ListQueuesCommandOutput,
  PurgeQueueCommandOutput,
  ReceiveMessageCommandOutput,
  SendMessageBatchCommandOutput,
} from '@aws-sdk/client-sqs'
import { type AnySqsClient, isSqsClient, type SqsClientSettings } from './any-client.ts'
import { sqsError } from './sqs-error.ts'

type Sdk = typeof import('@aws-sdk/client-sqs')

/** The actions that a carrier needs. IAM must allow them, batches by the name without `Batch`. */
interface Outputs {
  readonly ChangeMessageVisibilityBatch: ChangeMessageVisibilityBatchCommandOutput
  readonly CreateQueue: CreateQueueCommandOutput
  readonly DeleteMessageBatch: DeleteMessageBatchCommandOutput
  readonly DeleteQueue: DeleteQueueCommandOutput
  readonly GetQueueAttributes: GetQueueAttributesCommandOutput
  readonly GetQueueUrl: GetQueueUrlCommandOutput
  readonly ListQueues: ListQueuesCommandOutput
  readonly PurgeQueue: PurgeQueueCommandOutput
  readonly ReceiveMessage: ReceiveMessageCommandOutput
  readonly SendMessageBatch: SendMessageBatchCommandOutput
}

export type SqsAction = keyof Outputs

type InputOf<Action extends SqsAction> = ConstructorParameters<Sdk[`${Action}Command`]>[0]

export interface CallScene {
  /** As the program names it; undefined for calls that no queue has. */
  readonly queue?: string
  readonly signal?: AbortSignal
}

type Send = (
  command: unknown,
  options: { abortSignal?: AbortSignal | undefined },
) => Promise<unknown>

export class SqsConnection {
  readonly #sdk: Sdk
  readonly #client: { readonly send: Send }
  readonly #own: InstanceType<Sdk['SQSClient']> | undefined

  /** @param client the caller's own, which stays open, or the settings of a new one */
  constructor(sdk: Sdk, client: AnySqsClient | SqsClientSettings) {
    this.#sdk = sdk
    this.#own = isSqsClient(client) ? undefined : openClient(sdk, client)
    // Clients of all versions take these commands, although their types do not allow it.
    this.#client = (this.#own ?? client) as { readonly send: Send }
  }

  async call<Action extends SqsAction>(
    action: Action,
    input: InputOf<Action>,
    { queue, signal }: CallScene = {},
  ): Promise<Outputs[Action]> {
    const Command = this.#sdk[`${action}Command`] as new (input: InputOf<Action>) => unknown
    try {
      const output = await this.#client.send(new Command(input), { abortSignal: signal })
      return output as Outputs[Action]
    } catch (error) {
      throw sqsError(error, { action, queue })
    }
  }

  close(): void {
    this.#own?.destroy()
  }
}

/** Every long poll keeps a connection busy. With the SDK's 50, sends would wait for the polls of many queues. */
const agent = { maxSockets: 1_000 }

function openClient(sdk: Sdk, settings: SqsClientSettings): InstanceType<Sdk['SQSClient']> {
  const requestHandler = { httpAgent: agent, httpsAgent: agent }
  const client = new sdk.SQSClient({ ...settings, requestHandler })
  // Versions before 2024 take no settings here, and get on with the limit of the SDK.
  const isUsable = typeof client.config.requestHandler.handle === 'function'
  return isUsable ? client : new sdk.SQSClient(settings)
}
