/** Tells the test what it was given, and does what the test says. */
import { BroadcastChannel } from 'node:worker_threads'
import type { Context, SQSEvent } from 'aws-lambda'

/** What the test hears. */
export interface Told {
  readonly to: 'test'
  readonly requestId: string
  readonly event: SQSEvent
  readonly context: Readonly<Record<string, unknown>>
  readonly remainingMs: number
  readonly environment: Readonly<Record<string, string | undefined>>
  /** How many invocations this environment has seen, this one included. */
  readonly count: number
}

/** What it is told to do. */
export interface Order {
  readonly to: 'handler'
  readonly requestId: string
  readonly answer?: unknown
  readonly error?: string
  readonly write?: readonly string[]
}

let count = 0

export const handler = async (event: SQSEvent, context: Context): Promise<unknown> => {
  count += 1
  const channel = new BroadcastChannel(process.env['PUPPET_CHANNEL'] ?? '')
  const order = new Promise<Order>((resolve) => {
    channel.onmessage = (message) => {
      // The channel of the test carries nothing else.
      const { data } = message as { readonly data: Order | Told }
      if (data.to === 'handler' && data.requestId === context.awsRequestId) resolve(data)
    }
  })
  const told: Told = {
    to: 'test',
    requestId: context.awsRequestId,
    event,
    context: JSON.parse(JSON.stringify(context)),
    remainingMs: context.getRemainingTimeInMillis(),
    environment: { ...process.env },
    count,
  }
  channel.postMessage(told)
  const { answer, error, write = [] } = await order
  channel.close()
  // biome-ignore lint/suspicious/noConsole: what a function writes is looked at by the tests
  for (const line of write) console.log(line)
  if (error !== undefined) throw new TypeError(error)
  return answer
}
