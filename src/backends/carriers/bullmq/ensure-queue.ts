/** Creates a queue of BullMQ, or looks at what is there under its name. */
import type { RedisQueueBackend } from 'bullmq'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { CommandBatch } from './command-batch.ts'

export interface EnsuredQueue {
  readonly queue: string
  readonly backend: RedisQueueBackend
  readonly batch: CommandBatch
  readonly place: string
}

/** The keys of a queue, and what each holds. */
const typeByKey: Readonly<Record<string, string>> = {
  meta: 'hash',
  id: 'string',
  wait: 'list',
  active: 'list',
  delayed: 'zset',
  prioritized: 'zset',
  completed: 'zset',
  failed: 'zset',
  marker: 'zset',
  events: 'stream',
}

/** As BullMQ has it. */
const eventsMax = 10_000

/** Returns what is different from what the receiver of a queue expects. */
export async function ensureQueue({
  queue,
  backend,
  batch,
  place,
}: EnsuredQueue): Promise<readonly string[]> {
  const unusable = (reason: string): MillraceError =>
    new MillraceError('carrier_unusable', { message: `${reason} Rename the queue.` })
  if (queue.includes(':'))
    throw unusable(`BullMQ allows no colon in the name of a queue: ${queue}.`)
  const keys = Object.keys(typeByKey).map((name) => backend.toKey(name))
  // The name itself is no key of BullMQ, but of programs that use the prefix for something else.
  const [whole, ...types] = await Promise.all(
    [backend.qualifiedName, ...keys].map((key) => batch.call('type', key)),
  )
  for (const [index, [name, expected]] of Object.entries(typeByKey).entries()) {
    const found = types[index]
    if (found === 'none' || found === expected) continue
    const key = backend.toKey(name)
    throw unusable(
      `Redis at ${place} has a ${found} at ${key}, where BullMQ needs a ${expected}: it is not a queue of BullMQ.`,
    )
  }
  if (whole !== 'none' && types.every((type) => type === 'none')) {
    throw unusable(
      `Redis at ${place} has a ${whole} at ${backend.qualifiedName}, which is not a queue of BullMQ.`,
    )
  }
  const meta = await backend.getQueueMeta()
  if (meta['opts.maxLenEvents'] === undefined) {
    await backend.setQueueMeta({ 'opts.maxLenEvents': eventsMax })
  }
  return differencesIn(queue, meta)
}

function differencesIn(queue: string, meta: Readonly<Record<string, string>>): readonly string[] {
  return [
    ...(meta['paused'] === undefined
      ? []
      : [`The queue ${queue} is paused in BullMQ: nothing is received from it.`]),
    ...(meta['concurrency'] === undefined
      ? []
      : [
          `The queue ${queue} has a limit in BullMQ: ${meta['concurrency']} jobs are received at the same time.`,
        ]),
    ...(meta['max'] === undefined
      ? []
      : [
          `The queue ${queue} has a rate limit in BullMQ: ${meta['max']} jobs in ${meta['duration']} ms.`,
        ]),
  ]
}
