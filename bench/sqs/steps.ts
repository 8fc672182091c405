/** The measured steps: the same requests for every server. */
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { body } from '../load.ts'
import { perSecond } from '../report.ts'
import { HttpClient } from './http-client.ts'
import { RawClient } from './raw-client.ts'
import type { BenchServer } from './servers.ts'
import { type Answer, jsonRequest, type WireClient, type WireRequest } from './wire-client.ts'

const ten: readonly number[] = Array.from({ length: 10 }, (_, index) => index)

/** A queue of a server. Its URL is the same for all, because the host is ignored. */
export interface BenchQueue {
  readonly server: BenchServer
  readonly name: string
}

function urlOf({ name }: BenchQueue): string {
  return `http://127.0.0.1:4566/000000000000/${name}`
}

export async function createQueue(queue: BenchQueue): Promise<void> {
  const request = jsonRequest('CreateQueue', { QueueName: queue.name })
  const client = await RawClient.open(queue.server.port, 1)
  await client.run(() => (last) => {
    if (last === undefined) return request
    succeeded(last)
    return undefined
  })
  client.close()
}

/** Sends one message per request for the given time; returns messages per second. */
export async function sendSingles(queue: BenchQueue, load: Load): Promise<number> {
  const request = jsonRequest('SendMessage', { QueueUrl: urlOf(queue), MessageBody: body })
  return repeated(queue.server.port, load, request, 1)
}

/** Sends ten messages per request for the given time; returns messages per second. */
export async function sendTens(queue: BenchQueue, load: Load): Promise<number> {
  return repeated(queue.server.port, load, sendTen(queue), 10)
}

function sendTen(queue: BenchQueue): WireRequest {
  return jsonRequest('SendMessageBatch', {
    QueueUrl: urlOf(queue),
    Entries: ten.map((id) => ({ Id: `${id}`, MessageBody: body })),
  })
}

export interface Load {
  readonly connections: number
  readonly forMs: number
  /** Node's HTTP client, or one that does as little as possible. */
  readonly by: 'http' | 'sockets'
}

async function openClient(port: number, { connections, by }: Load): Promise<WireClient> {
  return by === 'http' ? new HttpClient(port, connections) : RawClient.open(port, connections)
}

async function repeated(
  port: number,
  load: Load,
  request: WireRequest,
  messages: number,
): Promise<number> {
  const client = await openClient(port, load)
  let answered = 0
  const startedMs = performance.now()
  const endMs = startedMs + load.forMs
  await client.run(() => (last) => {
    if (last !== undefined) {
      succeeded(last)
      answered += 1
    }
    return performance.now() < endMs ? request : undefined
  })
  const elapsedMs = performance.now() - startedMs
  client.close()
  return perSecond(answered * messages, elapsedMs)
}

/** Sends this many messages, ten per request. */
export async function fillOverWire(queue: BenchQueue, count: number): Promise<void> {
  const client = await RawClient.open(queue.server.port, 16)
  const request = sendTen(queue)
  let left = count
  await client.run(() => (last) => {
    if (last !== undefined) succeeded(last)
    left -= 10
    return left >= 0 ? request : undefined
  })
  client.close()
}

/** Receives ten and deletes ten until the time is up or the queue is empty; returns messages per second. */
export async function consumeTens(queue: BenchQueue, load: Load): Promise<number> {
  const client = await openClient(queue.server.port, load)
  const QueueUrl = urlOf(queue)
  const receiveTen = jsonRequest('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 })
  let deleted = 0
  const startedMs = performance.now()
  const endMs = startedMs + load.forMs
  let lastMs = startedMs
  await client.run(() => {
    let received = 0
    return (last) => {
      if (last !== undefined) succeeded(last)
      if (received > 0) {
        deleted += received
        received = 0
        lastMs = performance.now()
      } else if (last !== undefined) {
        const handles = handlesIn(last)
        received = handles.length
        if (received === 0) return undefined
        return deleteRequest(QueueUrl, handles)
      }
      return performance.now() < endMs ? receiveTen : undefined
    }
  })
  client.close()
  return perSecond(deleted, lastMs - startedMs)
}

const handle = /"ReceiptHandle":"([^"]+)"/g

function handlesIn({ body: text }: Answer): readonly string[] {
  return Array.from(text.matchAll(handle), ([, found = '']) => found)
}

function deleteRequest(QueueUrl: string, handles: readonly string[]): WireRequest {
  return jsonRequest('DeleteMessageBatch', {
    QueueUrl,
    Entries: handles.map((ReceiptHandle, index) => ({ Id: `${index}`, ReceiptHandle })),
  })
}

/** The same sends with the SDK, a fixed number at once; returns messages per second. */
export async function sendThroughSdk(queue: BenchQueue, load: Omit<Load, 'by'>): Promise<number> {
  const client = new SQSClient({
    endpoint: queue.server.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
  let sent = 0
  const startedMs = performance.now()
  const endMs = startedMs + load.forMs
  const sender = async (): Promise<void> => {
    while (performance.now() < endMs) {
      await client.send(new SendMessageCommand({ QueueUrl: urlOf(queue), MessageBody: body }))
      sent += 1
    }
  }
  await Promise.all(Array.from({ length: load.connections }, sender))
  const rate = perSecond(sent, performance.now() - startedMs)
  client.destroy()
  return rate
}

function succeeded({ status, body: text }: Answer): void {
  if (status !== 200)
    throw new Error(`The server refused a request of the benchmark: ${status} ${text}`)
}
