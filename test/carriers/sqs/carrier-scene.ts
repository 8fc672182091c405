/** A server of one kind for the tests of a file, carriers on it, and what most tests do with them. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { SQS } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll } from 'vitest'
import type {
  Carrier,
  CarrierDelivery,
  CarrierMessage,
  CarrierReceive,
} from '../../../src/backends/carriers/carrier.ts'
import { systemPorts, type Timers } from '../../../src/core/ports.ts'
import { defaultQueueSettings, type QueueSettings } from '../../../src/core/queue-settings.ts'
import { type SqsCarrierOptions, type SqsClientSettings, sqs } from '../../../src/sqs.ts'
import type { CliProcess } from '../../support/cli-process.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import type { SqsServer } from './sqs-servers.ts'
import { type WatchedServer, watchedServer } from './watched-server.ts'

export interface CarrierScene {
  readonly url: string
  /** Between the carriers of `watched` and the server. */
  readonly watch: WatchedServer
  /** A client of a program without Millrace. */
  foreign(): SQS
  /** A carrier of its own, closed after the tests. */
  open(options?: OpenOptions): Promise<Carrier>
}

export interface OpenOptions extends SqsCarrierOptions {
  readonly url?: string
  readonly timers?: Timers
  readonly onNotice?: (text: string) => void
}

export function clientSettings(endpoint: string): SqsClientSettings {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  return { endpoint, region: 'us-east-1', credentials }
}

export function carrierScene(kind: SqsServer): CarrierScene {
  let folder: TemporaryFolder
  let server: CliProcess
  let url = ''
  let watch: WatchedServer
  const carriers: Carrier[] = []
  const clients: SQS[] = []
  beforeAll(async () => {
    folder = await temporaryFolder('sqs-carrier')
    server = kind.start(folder.file('data'))
    const [, address = ''] = await server.output(/listening on (http:\S+)/)
    url = address
    watch = await watchedServer(url)
  })
  afterAll(async () => {
    await Promise.all(carriers.map((carrier) => carrier.close()))
    for (const client of clients) client.destroy()
    await watch.close()
    server.kill('SIGKILL')
    await server.ended
    await folder.remove()
  })
  return {
    get url() {
      return url
    },
    get watch() {
      return watch
    },
    foreign() {
      const client = new SQS(clientSettings(url))
      clients.push(client)
      return client
    },
    async open({ url: at = url, timers, onNotice, ...options } = {}) {
      const choice = sqs({ client: clientSettings(at), ...options })
      const carrier = await choice.open({
        onNotice: onNotice ?? assert.fail,
        now: systemPorts.clock.now,
        timers: timers ?? systemPorts.timers,
      })
      carriers.push(carrier)
      return carrier
    },
  }
}

let count = 0

export function freshName(suffix = ''): string {
  return `queue-${process.pid}-${count++}${suffix}`
}

export function settingsOf(
  type: QueueSettings['type'],
  more: Partial<QueueSettings> = {},
): QueueSettings {
  return { ...defaultQueueSettings, type, ...more }
}

export async function newQueue(
  carrier: Carrier,
  more: Partial<QueueSettings> = {},
): Promise<string> {
  const queue = freshName()
  await carrier.ensure({ queue, settings: settingsOf('standard', more), isTracked: true })
  return queue
}

export async function newFifoQueue(
  carrier: Carrier,
  more: Partial<QueueSettings> = {},
): Promise<string> {
  const queue = freshName('.fifo')
  await carrier.ensure({ queue, settings: settingsOf('fifo', more), isTracked: true })
  return queue
}

export function messageOf(body: string, more: Partial<CarrierMessage> = {}): CarrierMessage {
  return {
    labels: null,
    body,
    attributes: {},
    systemAttributes: {},
    delayMs: 0,
    group: null,
    deduplicationId: null,
    ...more,
  }
}

export function bodies(count_: number): readonly string[] {
  return Array.from({ length: count_ }, (_, index) => `body-${index}`)
}

export async function sendBodies(
  carrier: Carrier,
  queue: string,
  some: readonly string[],
): Promise<void> {
  const sent = await carrier.send({ queue, messages: some.map((body) => messageOf(body)) })
  assert.deepEqual(
    sent.map(({ status }) => status),
    some.map(() => 'created'),
  )
}

export function receiveFrom(
  carrier: Carrier,
  queue: string,
  more: Partial<CarrierReceive> = {},
): Promise<readonly CarrierDelivery[]> {
  return carrier.receive({ queue, max: 10, visibilityMs: 30_000, waitMs: 5_000, ...more })
}

/** Receives until there are that many. The test runner ends what takes too long. */
export async function receiveAll(
  carrier: Carrier,
  queue: string,
  wanted: number,
  more: Partial<CarrierReceive> = {},
): Promise<readonly CarrierDelivery[]> {
  const all: CarrierDelivery[] = []
  while (all.length < wanted) all.push(...(await receiveFrom(carrier, queue, more)))
  return all
}

export async function receiveOne(carrier: Carrier, queue: string): Promise<CarrierDelivery> {
  const [delivery, ...others] = await receiveFrom(carrier, queue)
  assert.ok(delivery !== undefined && others.length === 0)
  return delivery
}

/** Asks again until it is true. The test runner ends what takes too long. */
export async function until(isTrue: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isTrue())) await pause(20)
}
