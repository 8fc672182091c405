/** A carrier on the shared Redis server, and the queue that a test uses. */

import { Queue, type QueueOptions } from 'bullmq'
import { onTestFinished, vi } from 'vitest'
import type { AnyRedis, AnyRedisOptions } from '../../../src/backends/carriers/bullmq/any-redis.ts'
import type { BullmqOptions } from '../../../src/backends/carriers/bullmq/options.ts'
import type {
  Carrier,
  CarrierDelivery,
  CarrierMessage,
  CarrierReceive,
} from '../../../src/backends/carriers/carrier.ts'
import { bullmq } from '../../../src/bullmq.ts'
import { systemPorts } from '../../../src/core/ports.ts'
import { defaultQueueSettings, type QueueSettings } from '../../../src/core/queue-settings.ts'
import { freshRedis } from '../../services/fresh-redis.ts'

export const queue = 'orders'

export const standard: QueueSettings = { type: 'standard', ...defaultQueueSettings }

export interface Scene {
  readonly carrier: Carrier
  readonly url: string
  readonly prefix: string
  readonly notices: readonly string[]
}

export interface SceneOptions extends BullmqOptions {
  readonly connection?: string | AnyRedis | AnyRedisOptions
}

export async function scene({ connection, ...options }: SceneOptions = {}): Promise<Scene> {
  const shared = connection === undefined ? await freshRedis() : { url: '', prefix: 'bull' }
  const prefix = options.prefix ?? shared.prefix
  const notices: string[] = []
  const choice = bullmq(connection ?? shared.url, { ...options, prefix })
  const carrier = await choice.open({
    onNotice: (text) => notices.push(text),
    now: () => Date.now(),
    timers: systemPorts.timers,
  })
  onTestFinished(() => carrier.close())
  await carrier.ensure({ queue, settings: standard, isTracked: true })
  const url = shared.url || String(connection)
  return { carrier, url, prefix, notices }
}

/** BullMQ's own queue on the same keys. */
export function bullQueue({ url, prefix }: Pick<Scene, 'url' | 'prefix'>): Queue {
  const connection = connectionOf(url)
  const own = new Queue(queue, { connection, prefix } satisfies QueueOptions)
  own.on('error', () => {})
  onTestFinished(() => own.close())
  return own
}

/** For BullMQ, which takes no URL by itself. */
export function connectionOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname: host, port } = new URL(url)
  return { host, port: Number(port) }
}

export function message(body: string, more: Partial<CarrierMessage> = {}): CarrierMessage {
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

/** The labels of a job that the store knows. */
export function tracked(id: string, type = 'ocr'): Pick<CarrierMessage, 'labels'> {
  return { labels: { id, isTracked: true, job: { type, attemptsMade: 0, maxAttempts: 3 } } }
}

export async function send(
  carrier: Carrier,
  ...messages: readonly (CarrierMessage | string)[]
): Promise<readonly string[]> {
  const sent = await carrier.send({
    queue,
    messages: messages.map((given) => (typeof given === 'string' ? message(given) : given)),
  })
  return sent.map((one) => {
    if (one.status === 'refused') throw one.error
    return one.id
  })
}

export function receive(
  carrier: Carrier,
  more: Partial<CarrierReceive> = {},
): Promise<readonly CarrierDelivery[]> {
  return carrier.receive({ queue, max: 10, visibilityMs: 30_000, waitMs: 0, ...more })
}

/** One message, for which it waits. */
export async function receiveOne(
  carrier: Carrier,
  more: Partial<CarrierReceive> = {},
): Promise<CarrierDelivery> {
  const [delivery] = await receive(carrier, { max: 1, waitMs: 20_000, ...more })
  if (delivery === undefined) throw new Error('No message was received.')
  return delivery
}

/** Waits for a condition. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 60_000, interval: 20 })
}
