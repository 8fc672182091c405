/**
 * The second argument of a handler. Everything that it sends and enqueues here is stored in the commit that
 * completes it, or not at all.
 */

import type { EmittedJob, EmittedMessage } from '../backends/backend.ts'
import type { AddItems, EndBatch } from '../backends/collector-store.ts'
import type { UnitKey } from '../backends/flow-store.ts'
import type { DeclaredFlowParts, DeclaredQueues, NoParts } from '../contracts/define-app.ts'
import type { JobContext } from '../contracts/job-context.ts'
import type { JobInput, JobsQueue, JobTypeName } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageInput } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { AddOptions } from '../flows/collector-items.ts'
import type { Collecting } from '../flows/collectors.ts'
import type { EmittedOpening, FlowEmits } from '../flows/emitted-flows.ts'
import type {
  ChainStart,
  EmitChainOptions,
  FlowName,
  FlowOpening,
  UnitFacts,
} from '../flows/flow-types.ts'
import type { StoreConnection } from '../flows/replace-rows.ts'
import type { JobOptions } from '../jobs/job-options.ts'
import type { Logger } from '../observability/logger.ts'
import type { OptionsArgument } from '../producer/queue-producer.ts'
import type { SendOptions } from '../producer/send-options.ts'
import { type AbortKind, AbortReason } from './abort-reason.ts'
import { AttemptEmits, type EmittedParts } from './attempt-emits.ts'
import { AttemptLog, keepingLogger } from './attempt-log.ts'

/** The keys of the queues of plain messages. */
export type MessagesKey<Queues extends DeclaredQueues> = {
  [Key in keyof Queues]: Queues[Key] extends JobsQueue ? never : Key
}[keyof Queues] &
  string

export interface HandlerContext<
  Queues extends DeclaredQueues = DeclaredQueues,
  Parts extends DeclaredFlowParts = NoParts,
> extends JobContext {
  /** The unit that is marked as done when the handler completes; null if the work belongs to no flow. */
  readonly unit: UnitFacts | null

  /** Sends a message when the handler completes. */
  send<Key extends MessagesKey<Queues>>(
    queue: Key,
    message: MessageInput<Extract<Queues[Key], DeclaredQueue>>,
    ...options: OptionsArgument<
      Extract<Queues[Key], DeclaredQueue>,
      SendOptions<Extract<Queues[Key], DeclaredQueue>>
    >
  ): void
  /** Enqueues a job when the handler completes. */
  enqueue<
    Key extends { [K in keyof Queues]: Queues[K] extends JobsQueue ? K : never }[keyof Queues] &
      string,
    Name extends JobTypeName<Queues[Key]>,
  >(queue: Key, type: Name, payload: JobInput<Queues[Key], Name>, options?: JobOptions): void
  /** Opens a flow when the handler completes: `open('extraction', id, { units, ... })`. */
  open(...opening: FlowOpening<Queues, Parts>): void
  /** Starts a chain when the handler completes: `start('course', id, payload)`. */
  start(...start: ChainStart<Queues, Parts>): void
  /** Marks another unit of a flow as done when the handler completes. */
  mark(flow: FlowName<Parts>, id: string, unit: string): void
  /** Stages an item when the handler completes: `collect('conversations', item)`. */
  collect(...item: Collecting<Parts>): void
  /**
   * Writes your own rows in the transaction that settles this delivery: either everything is stored, or
   * nothing. `write` runs when the handler completes. It is called with the store's connection. On the embedded
   * store that is a `DatabaseSync` of node:sqlite, and `write` must be synchronous. On Postgres it is a
   * `LentClient` of `millrace/postgres`, and `write` may return a promise.
   */
  within<Connection extends object = StoreConnection>(write: (db: Connection) => unknown): void
}

/** The facts about a delivery before its handler runs. */
export type Facts = Omit<
  HandlerContext,
  | 'signal'
  | 'log'
  | 'payload'
  | 'unit'
  | 'progress'
  | 'send'
  | 'enqueue'
  | 'open'
  | 'start'
  | 'mark'
  | 'collect'
  | 'within'
  | 'spend'
>

/** What all contexts of a worker share. */
export interface SharedContext {
  /** The logger of an attempt, before its lines are kept. */
  readonly log: (facts: Facts) => Logger
  /** The logger of a batch. */
  readonly batchLog: (batch: { readonly queue: string; readonly type: string | null }) => Logger
  readonly now: () => number
  readonly prepareMessage: (
    queue: string,
    message: unknown,
    options: unknown,
  ) => Promise<EmittedMessage>
  readonly prepareJob: (
    queue: string,
    type: string,
    payload: unknown,
    options: JobOptions | undefined,
  ) => Promise<EmittedJob>
  readonly prepareItem: (
    collector: string,
    item: unknown,
    options?: AddOptions,
  ) => Promise<AddItems>
  readonly flows: FlowEmits
  /** @param lease of the delivery that it counts for; none for a batch as a whole */
  readonly spend: (
    lease: OwnContext['lease'] | undefined,
    budget: string,
    amount: number,
  ) => Promise<void>
}

/** What belongs to one context. */
export interface OwnContext {
  readonly facts: Facts
  readonly payload: unknown
  /** The lease that the delivery is settled with. */
  readonly lease: { readonly queue: string; readonly receipt: string }
  /** The unit that the delivery belongs to. */
  readonly unit: UnitKey | null
  /** Whether the lines of its log are kept with the job. */
  readonly keepsLogs: boolean
  /** Values that neither the log nor an error may quote. */
  readonly hide: () => readonly string[]
  readonly reportProgress: (fraction: number) => Promise<void>
}

const nothing: EmittedParts = {}

/** The context of one attempt. Signal, logger and emits are created on first use. */
export class AttemptContext implements HandlerContext {
  readonly queue: string
  readonly type: string | null
  readonly id: string
  readonly attempt: number
  readonly maxAttempts: number | null
  readonly owner: string | null
  readonly tenant: string | null
  readonly tier: string | null
  readonly traceId: string | null
  readonly tags: readonly string[]
  readonly token: number
  readonly payload: unknown
  readonly #shared: SharedContext
  readonly #own: OwnContext
  #controller: AbortController | undefined
  #abortKind: AbortKind | undefined
  #log: Logger | undefined
  #lines: AttemptLog | undefined
  #drafts: AttemptEmits | undefined

  constructor(shared: SharedContext, own: OwnContext) {
    const { facts } = own
    this.#shared = shared
    this.#own = own
    this.payload = own.payload
    this.queue = facts.queue
    this.type = facts.type
    this.id = facts.id
    this.attempt = facts.attempt
    this.maxAttempts = facts.maxAttempts
    this.owner = facts.owner
    this.tenant = facts.tenant
    this.tier = facts.tier
    this.traceId = facts.traceId
    this.tags = facts.tags
    this.token = facts.token
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#abortKind !== undefined && !this.#controller.signal.aborted) {
      this.#controller.abort(new AbortReason(this.#abortKind))
    }
    return this.#controller.signal
  }

  get log(): Logger {
    this.#log ??= this.#newLog()
    return this.#log
  }

  #newLog(): Logger {
    const { facts, keepsLogs, hide } = this.#own
    if (keepsLogs) this.#lines = new AttemptLog(this.#shared.now)
    return keepingLogger(this.#shared.log(facts), this.#lines, hide)
  }

  /** The lines that are to be kept; undefined if nothing was logged. */
  get lines(): AttemptLog | undefined {
    return this.#lines
  }

  get unit(): UnitFacts | null {
    const { unit } = this.#own
    return unit === null ? null : this.#shared.flows.nameUnit(unit)
  }

  progress(fraction: number): Promise<void> {
    return this.#own.reportProgress(fraction)
  }

  spend(budget: string, amount: number): Promise<void> {
    return this.#shared.spend(this.#own.lease, budget, amount)
  }

  send(queue: string, message: unknown, options?: unknown): void {
    this.#emits.add('emits', this.#shared.prepareMessage(queue, message, options))
  }

  enqueue(queue: string, type: string, payload: unknown, options?: JobOptions): void {
    this.#emits.add('jobs', this.#shared.prepareJob(queue, type, payload, options))
  }

  open(flow: string, id: string, opening: EmittedOpening): void {
    this.#refuseTakeOver(opening)
    this.#emits.add('flows', this.#shared.flows.open(flow, id, opening))
  }

  start(chain: string, id: string, payload: unknown, options: EmitChainOptions = {}): void {
    this.#refuseTakeOver(options)
    this.#emits.add('flows', this.#shared.flows.start(chain, id, payload, options))
  }

  mark(flow: string, id: string, unit: string): void {
    this.#emits.add('marks', this.#shared.flows.mark(flow, id, unit))
  }

  collect(collector: string, item: unknown, options?: AddOptions): void {
    this.#emits.add('items', this.#shared.prepareItem(collector, item, options))
  }

  /** For the worker's own handler of triggers. */
  get lease(): OwnContext['lease'] {
    return this.#own.lease
  }

  /** Ends the batch of a collector and sends the merged message when the handler completes. */
  endBatch(batch: EndBatch, merged: EmittedMessage): void {
    this.#emits.endBatch(batch)
    this.#emits.add('emits', Promise.resolve(merged))
  }

  within<Connection extends object = StoreConnection>(write: (db: Connection) => unknown): void {
    // Only the caller knows the type of the backend's connection.
    this.#emits.write((connection) => write(connection as Connection))
  }

  /** Why the handler should stop; undefined if it should not. */
  get abortKind(): AbortKind | undefined {
    return this.#abortKind
  }

  /** Asks the handler to stop. Only the first reason counts. */
  abort(kind: AbortKind): void {
    if (this.#abortKind !== undefined) return
    this.#abortKind = kind
    this.#controller?.abort(new AbortReason(kind))
  }

  /**
   * Everything that the completion stores, including the next step of a chain. Rejects if any of it does not
   * fit its contract.
   */
  emitted(result: string | undefined): EmittedParts | Promise<EmittedParts> {
    if (this.#drafts === undefined && this.#own.unit === null) return nothing
    return this.#gathered(result)
  }

  async #gathered(result: string | undefined): Promise<EmittedParts> {
    const { unit, facts } = this.#own
    const gathered = (await this.#drafts?.gathered()) ?? nothing
    if (unit === null) return gathered
    const takenOverBy = gathered.flows?.find(({ takesOver }) => takesOver)
    const successor = await this.#shared.flows.successor({ unit, result, takenOverBy, facts })
    return successor === undefined ? gathered : { ...gathered, starts: [successor] }
  }

  get #emits(): AttemptEmits {
    this.#drafts ??= new AttemptEmits()
    return this.#drafts
  }

  #refuseTakeOver({ takeOver = false }: { readonly takeOver?: boolean }): void {
    if (!takeOver || this.#own.unit !== null) return
    const allowed = 'a handler whose message is the unit of a flow'
    throw MillraceError.invalid([{ field: 'takeOver', given: 'true', allowed }])
  }
}
