/** One queue that a worker polls: its declaration, its weight, and how many of its messages are running. */
import { type BatchSettings, batchOf } from '../contracts/batch-handler.ts'
import { contractOf, jobContractOf } from '../contracts/contract-of.ts'
import { hiddenPathsOf } from '../contracts/hidden-paths.ts'
import { isJobsQueue, type JobType, jobTypeOf } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { backoffOf } from '../contracts/resolve-controls.ts'
import type { BackoffPolicy } from '../core/backoff.ts'
import { durationMs } from '../core/durations.ts'
import type { AttemptContext } from './handler-context.ts'

/**
 * `ready`: worth a claim. `claiming`: a claim is under way. `watching`: it was empty. `resting`: a claim
 * failed.
 */
export type SourceState = 'ready' | 'claiming' | 'watching' | 'resting'

/** A handler of the user, or the worker's own handler of triggers. */
export type SourceHandler = (payload: unknown, context: AttemptContext) => unknown

export interface SourceSetup {
  readonly key: string
  /** The queue's name on the backend. */
  readonly name: string
  readonly declared: DeclaredQueue
  readonly weight: number
  /** How many of its messages this worker runs at once. */
  readonly concurrency: number
  readonly visibilityMs: number
  /**
   * Receives after which a message is dead-lettered. Null if the queue has no dead-letter queue. Not for
   * jobs.
   */
  readonly maxReceives: number | null
  /** By job type, or with an empty name for plain messages. */
  readonly handlers: ReadonlyMap<string, SourceHandler>
}

/** How jobs of one type, or the messages of a queue, are run. */
export interface Work {
  readonly handler: SourceHandler
  /** Undefined if the handler gets its messages one by one. */
  readonly batch: BatchSettings | undefined
  readonly schema: JobType['schema'] | undefined
  readonly result: JobType['result']
  readonly backoff: BackoffPolicy
  readonly timeoutMs: number | undefined
  /** Paths of values that no error may quote. */
  readonly hidden: readonly string[]
}

export class Source {
  readonly setup: SourceSetup
  weight: number
  running = 0
  state: SourceState = 'ready'
  /** Whether the lines that handlers log are kept with their jobs. */
  readonly keepsLogs: boolean
  readonly works: readonly Work[]
  /** Whether any of its handlers gets batches. */
  readonly hasBatches: boolean
  readonly #works = new Map<string, Work>()

  constructor(setup: SourceSetup) {
    this.setup = setup
    this.weight = setup.weight
    const { declared } = setup
    this.keepsLogs = isJobsQueue(declared) && declared.options.keepLogs !== false
    for (const [name, handler] of setup.handlers) {
      this.#works.set(name, workOf(setup.declared, name, handler))
    }
    this.works = [...this.#works.values()]
    this.hasBatches = this.works.some(({ batch }) => batch !== undefined)
  }

  get isJobs(): boolean {
    return isJobsQueue(this.setup.declared)
  }

  get isFifo(): boolean {
    return this.setup.declared.type === 'fifo'
  }

  /** How to run a job type; undefined if the queue does not have it. */
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
    batch: batchOf(handler),
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
