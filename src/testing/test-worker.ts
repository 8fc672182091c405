/** Decides which queues the worker of a test polls: those whose handlers it has. */
import { isTriggersQueue } from '../contracts/collector-declaration.ts'
import { declaredRunOf, isJobsQueue } from '../contracts/jobs-declaration.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { UntypedHandler, UntypedWorkerOptions } from '../worker/worker-options.ts'

export interface TestWorkerOptions {
  readonly handle?: Readonly<Record<string, UntypedHandler>> | undefined
  readonly concurrency?: number | undefined
}

/** Undefined if there is nothing to poll. The worker checks the rest of its options itself. */
export function testWorkerOptions(
  queues: readonly NamedQueue[],
  { handle = {}, concurrency = 1 }: TestWorkerOptions,
): UntypedWorkerOptions | undefined {
  const poll = queues.filter((queue) => isPolled(queue, handle)).map(({ key }) => key)
  if (poll.length > 0) return { poll, handle, concurrency }
  const [name] = Object.keys(handle)
  if (name === undefined) return undefined
  const known = queues.flatMap(handlerNames)
  const allowed = `a job type or the key of a plain queue of the app${didYouMean(name, known)}`
  throw MillraceError.invalid([{ field: `handle.${name}`, given: 'a handler', allowed }])
}

/** One given handler of a jobs queue is enough: the worker then reports the ones that are missing. */
function isPolled(queue: NamedQueue, handle: object): boolean {
  const { declared } = queue
  if (isTriggersQueue(declared)) return true
  const names = handlerNames(queue)
  if (names.some((name) => Object.hasOwn(handle, name))) return true
  return isJobsQueue(declared) && names.every((name) => declaredRunOf(declared, name) !== undefined)
}

function handlerNames({ key, declared }: NamedQueue): readonly string[] {
  return isJobsQueue(declared) ? Object.keys(declared.options.types) : [key]
}
