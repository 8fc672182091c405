/** What tests of FIFO queues share: messages that are named after their groups. */
import { type NewQueue, receiveBodies, send } from './queue-scene.ts'
import type { InputOf, SqsClient } from './sqs-client.ts'

/** `g1-m1 g2-m1` are a message of the group `g1` and one of `g2`. */
export async function sendAll(client: SqsClient, queue: NewQueue, bodies: string): Promise<void> {
  for (const body of bodies.split(' ')) {
    await send(client, queue, body, { MessageGroupId: body.slice(0, 2) })
  }
}

/** What a receive answers, in the same form. */
export async function receiveAll(
  client: SqsClient,
  queue: NewQueue,
  more: Partial<InputOf<'ReceiveMessage'>> = {},
): Promise<string> {
  return (await receiveBodies(client, queue, more)).join(' ')
}
