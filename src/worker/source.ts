/** One queue that a worker takes work from: its declaration, its weight, and what is running of it. */
import { contractOf, jobContractOf } from '../contracts/contract-of.ts'
import { hiddenPathsOf } from '../contracts/hidden-paths.ts'
import { isJobsQueue, type JobType, jobTypeOf } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { backoffOf } from '../contracts/resolve-controls.ts'
import type { BackoffPolicy } from '../core/backoff.ts'
import { durationMs } from '../core/durations.ts'
import type { AttemptContext } from './handler-context.ts'

/** `ready`: worth a claim. `claiming`: one is on its way. `watching`: it was found empty. */
export type SourceState = 'ready' | 'claiming' | 'watching' | 'resting'

/** What is called with a payload: a handler of the user's, or the worker's own for triggers. */
export type SourceHandler = (payload: unknown, context: AttemptContext) => unknown

export interface SourceSetup {
  readonly key: string
  /** The queue's name on the backend. */
  readonly name: string
  readonly declared: DeclaredQueue
  readonly weight: number
  /** How many of it this worker runs at once. */
  readonly concurrency: number
  readonly visibilityMs: number
  /** Receives after which a message that is no job is dead; null when there is no such queue. */
  readonly maxReceives: number | null
  /** By job type, or under the empty name for plain messages. */
  readonly handlers: ReadonlyMap<string, SourceHandler>
}

/** How jobs of one type, or the messages of a queue, are run. */
export interface Work {
  readonly handler: SourceHandler
  readonly schema: JobType['schema'] | undefined
  readonly result: JobType['result']
  readonly backoff: BackoffPolicy
  readonly timeoutMs: number | undefined
  /** Paths of what no error may quote. */
  readonly hidden: readonly string[]
}

export class Source {
  readonly setup: SourceSetup
  weight: number
  running = 0
  state: SourceState = 'ready'
  readonly #works = new Map<string, Work>()

  constructor(setup: SourceSetup) {
    this.setup = setup
    this.weight = setup.weight
    for (const [name, handler] of setup.handlers) {
      this.#works.set(name, workOf(setup.declared, name, handler))
    }
  }

  get isJobs(): boolean {
    return isJobsQueue(this.setup.declared)
  }

  get isFifo(): boolean {
    return this.setup.declared.type === 'fifo'
  }

  /** How a job type is run; undefined when the queue does not have it. */
  work(type: string): Work | undefined {
    return this.#works.get(type)
  }
}

function workOf(declared: DeclaredQueue, name: string, handler: SourceHandler): Work {
  const { options } = declared
  const type = isJobsQueue(declared) ? jobTypeOf(declared, name) : undefined
  const timeout = type?.timeout ?? options.timeout
  return {
    handler,
    schema:
      type !== undefined && isJobsQueue(declared)
        ? jobContractOf(declared, type)
        : contractOf(declared),
    result: type?.result,
    backoff: backoffOf(type?.backoff, options.backoff),
    timeoutMs: timeout === undefined ? undefined : durationMs(timeout),
    hidden: hiddenPathsOf(declared, name),
  }
}
