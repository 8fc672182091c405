/**
 * Takes messages from one queue by long polling, until it is stopped. A message is deleted when it has
 * been dealt with; one that fails is left alone, comes again after its visibility timeout, and is a
 * dead letter after as many receives as its queue allows.
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
  /** The name of a kill switch that is on; nothing is tried then. */
  readonly pausedBy: string | undefined
  readonly handle: (body: unknown) => Promise<string>
  readonly log: (line: string) => void
}

export interface Consumer {
  /** Finishes what is at hand, and takes nothing more. */
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
    log(`${name}: left alone, ${pausedBy} is on`)
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
