/** Small things that most tests with clients do: make queues, send, receive, and expect refusals. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type {
  Message,
  MessageSystemAttributeName,
  QueueAttributeName,
  SendMessageCommandInput,
} from '@aws-sdk/client-sqs'
import { boto3 } from './boto3-client.ts'
import { jsonSdk, querySdk } from './sdk-clients.ts'
import {
  type ClientKind,
  type InputOf,
  type ProtocolName,
  refusalOf,
  type SqsClient,
} from './sqs-client.ts'

/** All but the aws command, which takes most of a second for each call and has tests of its own. */
export const clientKinds: readonly ClientKind[] = [jsonSdk, querySdk, boto3]

export type QueueKind = 'standard' | 'FIFO'
export const queueKinds: readonly QueueKind[] = ['standard', 'FIFO']

type Attributes = Readonly<Record<string, string>>

let count = 0

/** A name that nobody else uses. */
export function freshName(prefix = 'queue'): string {
  return `${prefix}-${process.pid}-${count++}`
}

export interface NewQueue {
  readonly url: string
  readonly name: string
  readonly arn: string
}

export async function newQueue(
  client: SqsClient,
  attributes: Attributes = {},
  name: string = freshName(),
): Promise<NewQueue> {
  const { QueueUrl: url = '' } = await client.call('CreateQueue', {
    QueueName: name,
    Attributes: { ...attributes },
  })
  return { url, name, arn: `arn:aws:sqs:us-east-1:000000000000:${name}` }
}

export function newFifoQueue(client: SqsClient, attributes: Attributes = {}): Promise<NewQueue> {
  const fifo = { FifoQueue: 'true', ContentBasedDeduplication: 'true' }
  return newQueue(client, { ...fifo, ...attributes }, `${freshName()}.fifo`)
}

export function newQueueOf(
  kind: QueueKind,
  client: SqsClient,
  attributes: Attributes = {},
): Promise<NewQueue> {
  return kind === 'FIFO' ? newFifoQueue(client, attributes) : newQueue(client, attributes)
}

/** What a message to a queue of that kind must have beside its body. */
export function groupFor(kind: QueueKind): Pick<SendMessageCommandInput, 'MessageGroupId'> {
  return kind === 'FIFO' ? { MessageGroupId: 'group' } : {}
}

export async function send(
  client: SqsClient,
  { url }: Pick<NewQueue, 'url'>,
  body: string,
  more: Partial<InputOf<'SendMessage'>> = {},
): Promise<Awaited<ReturnType<typeof client.call<'SendMessage'>>>> {
  return client.call('SendMessage', { QueueUrl: url, MessageBody: body, ...more })
}

/** Up to ten messages at once, unless told otherwise. */
export async function receive(
  client: SqsClient,
  { url }: Pick<NewQueue, 'url'>,
  more: Partial<InputOf<'ReceiveMessage'>> = {},
): Promise<readonly Message[]> {
  const input = { QueueUrl: url, MaxNumberOfMessages: 10, ...more }
  const { Messages = [] } = await client.call('ReceiveMessage', input)
  return Messages
}

export async function receiveBodies(
  client: SqsClient,
  queue: Pick<NewQueue, 'url'>,
  more: Partial<InputOf<'ReceiveMessage'>> = {},
): Promise<readonly string[]> {
  return (await receive(client, queue, more)).map(({ Body = '' }) => Body)
}

/** The one message that a receive must answer. */
export async function receiveOne(
  client: SqsClient,
  queue: Pick<NewQueue, 'url'>,
  more: Partial<InputOf<'ReceiveMessage'>> = {},
): Promise<Message & { readonly ReceiptHandle: string }> {
  const messages = await receive(client, queue, more)
  assert.equal(messages.length, 1)
  const [message] = messages
  const handle = message?.ReceiptHandle
  assert.ok(message !== undefined && handle !== undefined)
  return { ...message, ReceiptHandle: handle }
}

/** Asks for system attributes in the words of the client: the parameter has a new name since 2024. */
export function systemAttributes(
  client: SqsClient,
  names: readonly MessageSystemAttributeName[] = ['All'],
): Partial<InputOf<'ReceiveMessage'>> {
  if (client.protocol === 'json') return { MessageSystemAttributeNames: [...names] }
  // The types of the current SDK allow only names of queue attributes under the old name.
  return { AttributeNames: [...names] as unknown as QueueAttributeName[] }
}

export async function attributesOf(
  client: SqsClient,
  { url }: Pick<NewQueue, 'url'>,
  names: InputOf<'GetQueueAttributes'>['AttributeNames'] = ['All'],
): Promise<Readonly<Record<string, string>>> {
  const input = { QueueUrl: url, AttributeNames: names }
  const { Attributes = {} } = await client.call('GetQueueAttributes', input)
  return Attributes
}

/** Waits until a queue shows these attributes; the test runner ends what takes too long. */
export async function seen(
  client: SqsClient,
  queue: Pick<NewQueue, 'url'>,
  expected: Attributes,
): Promise<void> {
  for (;;) {
    const attributes = await attributesOf(client, queue)
    if (Object.entries(expected).every(([name, value]) => attributes[name] === value)) return
    await pause(50)
  }
}

export interface ExpectedRefusal {
  readonly code: string
  readonly status?: number
  readonly message?: string | RegExp
}

export async function assertRefused(
  call: Promise<unknown>,
  { code, status = 400, message }: ExpectedRefusal,
): Promise<void> {
  const refusal = await refusalOf(call)
  assert.equal(refusal.code, code, refusal.message)
  if (refusal.status !== undefined) assert.equal(refusal.status, status)
  if (typeof message === 'string') assert.equal(refusal.message, message)
  else if (message !== undefined) assert.match(refusal.message, message)
}

/** Codes of the Query protocol, which every client shows. */
export const simpleQueue = (name: string): string => `AWS.SimpleQueueService.${name}`

/** Ids of groups and for deduplication that are refused, and what is wrong with them. */
export function invalidIds(protocol: ProtocolName): readonly (readonly [string, string])[] {
  const both = [
    ['too long', 'a'.repeat(129)],
    ['spaced', 'group 123'],
  ] as const
  // An empty parameter of the Query protocol is as good as none.
  return protocol === 'json' ? [['empty', ''], ...both] : both
}
