/**
 * The client of the AWS SDK, which is loaded when the first message is sent. Programs that send to SQS
 * install it; all others do not need it.
 */
import { MillraceError } from '../core/millrace-error.ts'
import type { BatchAnswer } from '../sqs/batch-call.ts'
import type { SentEntry, SqsEntry } from '../sqs/send-entry.ts'

/** An `SQSClient` of `@aws-sdk/client-sqs`. */
export interface SqsClient {
  send(command: never): Promise<unknown>
}

/** The three calls that a sender makes. */
export interface SqsCalls {
  send(url: string, entry: SqsEntry): Promise<SentEntry>
  sendBatch(
    url: string,
    entries: readonly (SqsEntry & { readonly Id: string })[],
  ): Promise<BatchAnswer<SentEntry>>
  queueUrl(name: string): Promise<string | undefined>
  close(): void
}

const missing =
  'Sending to SQS needs the package @aws-sdk/client-sqs. Install it: npm install @aws-sdk/client-sqs'

/** @param client the caller's own, which stays open; without one, a new one from the environment */
export async function loadSqs(client: SqsClient | undefined): Promise<SqsCalls> {
  const sdk = await loadSdk()
  const own = client === undefined ? new sdk.SQSClient() : undefined
  // Clients of all versions take these commands, which only their types do not say.
  const used = (own ?? client) as Pick<InstanceType<typeof sdk.SQSClient>, 'send'>
  return {
    send: async (QueueUrl, entry) =>
      used.send(new sdk.SendMessageCommand({ QueueUrl, ...entry })) as Promise<SentEntry>,
    sendBatch: async (QueueUrl, entries) =>
      used.send(new sdk.SendMessageBatchCommand({ QueueUrl, Entries: [...entries] })) as Promise<
        BatchAnswer<SentEntry>
      >,
    queueUrl: async (QueueName) =>
      (await used.send(new sdk.GetQueueUrlCommand({ QueueName }))).QueueUrl,
    close: () => own?.destroy(),
  }
}

async function loadSdk(): Promise<typeof import('@aws-sdk/client-sqs')> {
  try {
    return await import('@aws-sdk/client-sqs')
  } catch (cause) {
    throw new MillraceError('unsupported', { message: missing, cause })
  }
}
