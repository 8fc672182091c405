/** The second argument of a batch handler. Everything that commits belongs to an item, not to the batch. */
import type { BatchContext } from '../contracts/batch-handler.ts'
import type { Logger } from '../observability/logger.ts'
import { type AbortKind, AbortReason } from './abort-reason.ts'
import { keepingLogger } from './attempt-log.ts'
import type { AttemptContext, SharedContext } from './handler-context.ts'

export interface OwnBatch {
  readonly queue: string
  readonly type: string | null
  readonly items: readonly AttemptContext[]
  /** Values of all items that the log must not quote. */
  readonly hide: () => readonly string[]
}

export class BatchAttemptContext implements BatchContext<AttemptContext> {
  readonly queue: string
  readonly type: string | null
  readonly items: readonly AttemptContext[]
  readonly #shared: SharedContext
  readonly #hide: () => readonly string[]
  readonly #controller = new AbortController()
  #log: Logger | undefined

  constructor(shared: SharedContext, { queue, type, items, hide }: OwnBatch) {
    this.queue = queue
    this.type = type
    this.items = items
    this.#shared = shared
    this.#hide = hide
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get log(): Logger {
    this.#log ??= keepingLogger(this.#shared.batchLog(this), undefined, this.#hide)
    return this.#log
  }

  spend(budget: string, amount: number): Promise<void> {
    return this.#shared.spend(undefined, budget, amount)
  }

  /** Asks the handler to stop, for all items. */
  abort(kind: AbortKind): void {
    for (const item of this.items) item.abort(kind)
    this.#controller.abort(new AbortReason(kind))
  }
}
