/** What declarations say about the work that they give out: for which queue it is, and of which type. */
import { describeGiven, type Violations } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { isTriggersQueue } from './collector-declaration.ts'
import { isJobsQueue, jobTypeOf } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'

export type CheckedQueues = ReadonlyMap<string, DeclaredQueue>

/** The queue under a key; undefined when it was refused. */
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
  const given = queue === undefined ? describeGiven(key) : `'${key}', a queue of triggers`
  into.push({ field, given, allowed: `the key of a declared queue${hint}` })
  return undefined
}

/** Work for a queue of jobs has one of its types, and other work has none. */
export function checkWorkType(
  into: Violations,
  field: string,
  type: unknown,
  queue: DeclaredQueue,
): void {
  if (!isJobsQueue(queue)) {
    if (type === undefined) return
    const allowed = 'none: the queue is not for jobs'
    into.push({ field, given: describeGiven(type), allowed })
  } else if (typeof type !== 'string' || jobTypeOf(queue, type) === undefined) {
    const types = Object.keys(queue.options.types)
    const hint = typeof type === 'string' ? didYouMean(type, types) : ''
    into.push({ field, given: describeGiven(type), allowed: `one of ${types.join(', ')}${hint}` })
  }
}
