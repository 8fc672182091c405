/** What the workers of a test have done: counts, the errors of handlers, and failures that the test asks for. */
import type { Middleware } from '../worker/middleware.ts'
import type { WorkerEvent, WorkerEventName } from '../worker/worker-event.ts'
import type { UntypedWorkerOptions } from '../worker/worker-options.ts'

export type WorkEnd = Exclude<WorkerEventName, 'started'>

/** How many attempts ended in which way, and the errors of those that failed. */
export interface WorkDone extends Readonly<Record<WorkEnd, number>> {
  /** In the order in which they happened. */
  readonly errors: readonly AttemptError[]
}

/** An attempt that failed, because its handler threw, or because its result or payload does not fit. */
export interface AttemptError extends Pick<WorkerEvent, 'queue' | 'type' | 'id' | 'attempt'> {
  /** `retried`: there will be another attempt. */
  readonly end: WorkEnd
  /** What the handler threw, with its own stack. */
  readonly error: unknown
}

/** An attempt by the id of its job or message. */
type Attempt = Pick<WorkerEvent, 'queue' | 'id' | 'attempt'>

export class WorkRecord {
  /** How many events there were. */
  events = 0
  /** How many attempts have started. */
  starts = 0
  /** Called at each start. */
  onStart: () => void = () => undefined
  readonly #ends: { readonly end: WorkEnd; readonly error: AttemptError | undefined }[] = []
  readonly #running = new Map<string, WorkerEvent>()
  readonly #planned = new Map<string, unknown[]>()

  /** A position to count from. */
  get position(): number {
    return this.#ends.length
  }

  /** Attempts that have not ended, by job type or queue. */
  get running(): readonly string[] {
    return [...this.#running.values()].map(({ type, queue }) => type ?? queue)
  }

  doneSince(position: number): WorkDone {
    const counts = {
      completed: 0,
      retried: 0,
      failed: 0,
      released: 0,
      cancelled: 0,
      lost: 0,
      refused: 0,
    }
    const ends = this.#ends.slice(position)
    for (const { end } of ends) counts[end] += 1
    return { ...counts, errors: ends.flatMap(({ error }) => error ?? []) }
  }

  /** The next attempt of this job type or plain queue fails with the error, without its handler. */
  failNext(name: string, error: unknown): void {
    this.#planned.set(name, [...(this.#planned.get(name) ?? []), error])
  }

  /** The options of a worker that is watched. */
  watched(options: UntypedWorkerOptions): UntypedWorkerOptions {
    const { use = [], onEvent } = options
    return {
      ...options,
      // The worker refuses what is neither an array nor a function.
      use: Array.isArray(use) ? [...use, this.#failPlanned] : use,
      onEvent:
        onEvent !== undefined && typeof onEvent !== 'function'
          ? onEvent
          : (event) => {
              this.#note(event)
              onEvent?.(event)
            },
    }
  }

  readonly #failPlanned: Middleware = (context, next) => {
    const planned = this.#planned.get(context.type ?? context.queue) ?? []
    if (planned.length === 0) return next()
    throw planned.shift()
  }

  #note(event: WorkerEvent): void {
    this.events += 1
    const key = keyOf(event)
    if (event.event === 'started') {
      this.#running.set(key, event)
      this.starts += 1
      this.onStart()
      return
    }
    this.#running.delete(key)
    this.#ends.push({ end: event.event, error: this.#errorOf(event, event.event) })
  }

  #errorOf(event: WorkerEvent, end: WorkEnd): AttemptError | undefined {
    const { queue, type, id, attempt, error: summary, failure, cause } = event
    const isChosen = failure === null && (end === 'retried' || end === 'failed')
    if (summary === null || isChosen) return undefined
    return { queue, type, id, attempt, end, error: cause ?? new Error(summary) }
  }
}

function keyOf({ queue, id, attempt }: Attempt): string {
  return `${queue} ${id} ${attempt}`
}
