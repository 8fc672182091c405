/**
 * Prepares emitted work: a message or job that is stored in the same commit as something else, such as a unit
 * or the end of a flow. It is checked against its contract here and stored elsewhere.
 */
import type { Backend, Emitted, EmittedJob, EmittedMessage } from '../backends/backend.ts'
import type { DeclaredQueues } from '../contracts/define-app.ts'
import {
  isJobsQueue,
  type JobInput,
  type JobsQueue,
  type JobTypeName,
} from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, FifoQueue, MessageInput } from '../contracts/queue-declaration.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import { isRecord } from '../contracts/setting-checks.ts'
import { type TieredApp, tierFor } from '../contracts/tier-declaration.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Ports } from '../core/ports.ts'
import { createProducer, type UntypedProducer } from '../producer/queue-producer.ts'
import type {
  AnySendOptions,
  FifoSendOptions,
  StandardSendOptions,
} from '../producer/send-options.ts'
import type { JobOptions } from './job-options.ts'
import { createJobProducer, type JobProducer } from './job-producer.ts'

/** The unit or schedule recognises a repetition by its own id, so its job needs no idempotency key. */
export type JobWorkOptions = Omit<
  JobOptions,
  'idempotencyKey' | 'coalesce' | 'throttle' | 'debounce'
>

/** For the same reason its message has no deduplication id. */
export type FifoWorkOptions = Omit<FifoSendOptions, 'deduplicationId'>

/** One message, or one job, for a queue. */
export type Work<Queue> = [Queue] extends [JobsQueue]
  ? JobWork<Queue>
  : [Queue] extends [FifoQueue]
    ? { readonly message: MessageInput<Queue>; readonly options: FifoWorkOptions }
    : [Queue] extends [DeclaredQueue]
      ? { readonly message: MessageInput<Queue>; readonly options?: StandardSendOptions }
      : never

type JobWork<Queue> = {
  readonly [Name in JobTypeName<Queue>]: {
    readonly type: Name
    readonly payload: JobInput<Queue, Name>
    readonly options?: JobWorkOptions
  }
}[JobTypeName<Queue>]

/** The queue with this key; never if the app has none. */
export type QueueAt<Queues extends DeclaredQueues, Key> = Key extends keyof Queues
  ? Queues[Key]
  : never

/** The same without the types of an app. */
export interface UntypedWork {
  readonly message?: unknown
  readonly type?: string
  readonly payload?: unknown
  readonly options?: object
}

export interface Emitter {
  message(queue: string, message: unknown, options?: AnySendOptions): Promise<EmittedMessage>
  job(queue: string, type: string, payload: unknown, options?: JobOptions): Promise<EmittedJob>
  /** A message or a job, depending on the queue. */
  work(queue: string, work: UntypedWork): Promise<Emitted>
}

export interface EmitterSetup {
  readonly app: TieredApp
  readonly backend: Pick<Backend, 'send' | 'jobs'>
  readonly queues: readonly NamedQueue[]
  readonly ports: Pick<Ports, 'clock' | 'ids'>
}

/** The emitter for the queues of an app, by their keys. */
export function createEmitter({ app, backend, queues, ports }: EmitterSetup): Emitter {
  const lines = new Map(queues.map((queue) => [queue.key, lineOf(queue, backend, ports)]))
  const lineTo = (key: string): Line => {
    const line = lines.get(key)
    if (line !== undefined) return line
    const message = `The app has no queue '${String(key).slice(0, 40)}'.`
    throw new MillraceError('queue_not_found', { message })
  }
  const emitter: Emitter = {
    message: async (key, message, options = {}) =>
      lineTo(key).messages.prepare(message, options).toEmitted(),
    job: async (key, type, payload, options = {}) => {
      const { queue, jobs } = lineTo(key)
      if (jobs === null) {
        const message = `The queue '${key}' is not a jobs queue. Send it a message instead.`
        throw new MillraceError('invalid_argument', { message })
      }
      const tier = tierFor(app, { queue: key, type, tier: options.tier })
      const tiered = tier === undefined ? options : { ...options, tier }
      return { queue: queue.name, job: await jobs.prepare(type, payload, tiered) }
    },
    work: async (key, given) => {
      const { queue, jobs } = lineTo(key)
      const { message, type, payload, options = {} } = requireWork(given, jobs !== null)
      if (jobs !== null) return emitter.job(key, type ?? '', payload, options)
      // If it were dropped as a duplicate, its unit would never end.
      const own = queue.declared.type === 'fifo' ? { deduplicationId: ports.ids.next() } : {}
      return emitter.message(key, message, { ...options, ...own })
    },
  }
  return emitter
}

interface Line {
  readonly queue: NamedQueue
  readonly messages: UntypedProducer
  /** Null if the queue is not a jobs queue. */
  readonly jobs: JobProducer | null
}

function lineOf(
  queue: NamedQueue,
  backend: EmitterSetup['backend'],
  { clock }: EmitterSetup['ports'],
): Line {
  const { name, declared } = queue
  const store = backend.jobs
  return {
    queue,
    messages: createProducer({ backend, name, declared, clock }),
    jobs:
      isJobsQueue(declared) && store !== null
        ? createJobProducer({ store, name, declared, clock })
        : null,
  }
}

const recognised = ['idempotencyKey', 'coalesce', 'throttle', 'debounce', 'deduplicationId']

/** Work may come from plain JavaScript. A plain message in a jobs queue would be lost. */
function requireWork(work: unknown, isJob: boolean): UntypedWork {
  const expected = isJob ? '{ type, payload }' : '{ message }'
  const needed = isJob ? 'type' : 'message'
  if (!isRecord(work) || work[needed] === undefined) {
    const given = isRecord(work) ? 'something else' : describeGiven(work)
    throw MillraceError.invalid([{ field: 'work', given, allowed: expected }])
  }
  const { options = {} } = work
  const wrong = recognised.filter((name) => Object(options)[name] !== undefined)
  if (wrong.length > 0) {
    const allowed = 'none: a repetition is recognised by the id of its unit'
    const violations = wrong.map((name) => ({
      field: `options.${name}`,
      given: 'a value',
      allowed,
    }))
    throw MillraceError.invalid(violations)
  }
  return work as UntypedWork
}
