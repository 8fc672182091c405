/** Checks the queue and the job type that flows, chains and schedules send work to. */
import { describeGiven, type Violations } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { isTriggersQueue } from './collector-declaration.ts'
import { isJobsQueue, jobTypeOf } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'

export type CheckedQueues = ReadonlyMap<string, DeclaredQueue>

/** Returns the queue with this key, or undefined after refusing it. */
export function checkWorkQueue(
  into: Violations,
  field: string,
  key: unknown,
  queues: CheckedQueues,
): DeclaredQueue | undefined {
  const queue = typeof key === 'string' ? queues.get(key) : undefined
  if (queue !== undefined && !isTriggersQueue(queue)) return queue
  const known = [...queues].filter(([, one]) => !isTriggersQueue(one)).map(([name]) => name)
  const hint = typeof key === 'string' ? didYouMean(key, known) : ''
  const given = queue === undefined ? describeGiven(key) : `'${key}', a triggers queue`
  into.push({ field, given, allowed: `the key of a declared queue${hint}` })
  return undefined
}

/** Work for a jobs queue needs one of its types. Other work has no type. */
export function checkWorkType(
  into: Violations,
  field: string,
  type: unknown,
  queue: DeclaredQueue,
): void {
  if (!isJobsQueue(queue)) {
    if (type === undefined) return
    const allowed = 'none: the queue is not a jobs queue'
    into.push({ field, given: describeGiven(type), allowed })
  } else if (typeof type !== 'string' || jobTypeOf(queue, type) === undefined) {
    const types = Object.keys(queue.options.types)
    const hint = typeof type === 'string' ? didYouMean(type, types) : ''
    into.push({ field, given: describeGiven(type), allowed: `one of ${types.join(', ')}${hint}` })
  }
}
