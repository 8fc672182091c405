/**
 * Receives messages from one queue by long polling until it is stopped. It deletes a message after success. A
 * failed message becomes visible again after its visibility timeout, and is dead-lettered after the queue's
 * maximum of receives.
 */
import { setTimeout as pause } from 'node:timers/promises'
import {
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs'

export interface ConsumerSetup {
  readonly client: SQSClient
  readonly queueUrl: string
  /** For the log. */
  readonly name: string
  /** The name of the kill switch that is on, if any. Messages are then not processed. */
  readonly pausedBy: string | undefined
  readonly handle: (body: unknown) => Promise<string>
  readonly log: (line: string) => void
}

export interface Consumer {
  /** Finishes the current messages and receives no more. */
  stop(): Promise<void>
}

const messagesAtOnce = 5
const waitSeconds = 20
const pauseAfterFailureMs = 1_000

export function startConsumer(setup: ConsumerSetup): Consumer {
  const stopping = new AbortController()
  const ended = run(setup, stopping.signal)
  return {
    stop() {
      stopping.abort()
      return ended
    },
  }
}

async function run(setup: ConsumerSetup, signal: AbortSignal): Promise<void> {
  const { log, name } = setup
  while (!signal.aborted) {
    try {
      for (const message of await receive(setup, signal)) await deal(setup, message)
    } catch (error) {
      if (signal.aborted) return
      log(`${name}: the queue cannot be reached: ${reasonOf(error)}`)
      await pause(pauseAfterFailureMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

async function receive(
  { client, queueUrl: QueueUrl }: ConsumerSetup,
  abortSignal: AbortSignal,
): Promise<readonly Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl,
    MaxNumberOfMessages: messagesAtOnce,
    WaitTimeSeconds: waitSeconds,
  })
  const { Messages = [] } = await client.send(command, { abortSignal })
  return Messages
}

async function deal(setup: ConsumerSetup, { Body, ReceiptHandle }: Message): Promise<void> {
  const { client, queueUrl: QueueUrl, name, pausedBy, handle, log } = setup
  if (pausedBy !== undefined) {
    log(`${name}: not processed, ${pausedBy} is on`)
    return
  }
  try {
    log(`${name}: ${await handle(JSON.parse(Body ?? ''))}`)
  } catch (error) {
    log(`${name}: failed: ${reasonOf(error)}`)
    return
  }
  await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
}

function reasonOf(error: unknown): string {
  return error instanceof Error
    ? `${error.name}: ${error.message}`.split('\n', 1).join()
    : 'unknown'
}
