/**
 * BullMQ's own backend for one queue, whose scripts are sent in batches. BullMQ builds the arguments of each script
 * and decodes its reply; only the way to the server is ours.
 */
import { QueueKeys, type RedisConnection, RedisQueueBackend } from 'bullmq'
import type { Argument, CommandBatch } from './command-batch.ts'
import type { BullmqLimiter, ResolvedOptions } from './options.ts'
import { substituteFor } from './scripts.ts'

export interface QueueBackendOptions {
  readonly queue: string
  readonly connection: RedisConnection
  readonly batch: CommandBatch
  readonly options: ResolvedOptions
  /** How long the lease of a received job lasts. */
  readonly lockDuration: number
}

/** What the backend reads of BullMQ's options for workers, which the type of its options leaves out. */
interface WorkerOptions {
  readonly prefix: string
  readonly connection: object
  readonly lockDuration: number
  readonly limiter: BullmqLimiter | undefined
  /** BullMQ never fails a job because its receivers ended: the store decides. */
  readonly maxStalledCount: number
  readonly stalledInterval: number
}

export function queueBackend({
  queue,
  connection,
  batch,
  options,
  lockDuration,
}: QueueBackendOptions): RedisQueueBackend {
  const { prefix, limiters, stalledInterval } = options
  const queueKeys = new QueueKeys(prefix)
  const workerOptions: WorkerOptions = {
    prefix,
    connection: {},
    lockDuration,
    limiter: Object.hasOwn(limiters, queue) ? limiters[queue] : undefined,
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    stalledInterval,
  }
  const backend = new RedisQueueBackend(
    connection,
    queue,
    queueKeys.getKeys(queue),
    (type) => queueKeys.toKey(queue, type),
    workerOptions,
    undefined,
    false,
  )
  const exec = backend.execCommand.bind(backend)
  // The only method of a client that it calls.
  const batched = {
    runCommand: (name: string, args: readonly Argument[]) => batch.run(substituteFor(name), args),
  } as unknown as Parameters<typeof exec>[0]
  backend.execCommand = (_client, name: string, args) => exec(batched, name, args)
  return backend
}

/** Runs a script of BullMQ with arguments that the backend has built, and returns its reply. */
export async function runScript(
  backend: RedisQueueBackend,
  name: string,
  args: readonly Argument[],
): Promise<unknown> {
  return backend.execCommand(await backend.client, name, [...args])
}
