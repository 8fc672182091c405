/**
 * What a handler is given beside its payload. What it sends and enqueues here comes to exist together
 * with its completion, in one commit, or not at all.
 */
import type { Emit, EmittedJob } from '../backends/backend.ts'
import type { DeclaredQueues } from '../contracts/define-app.ts'
import type { JobInput, JobsQueue, JobTypeName } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageInput } from '../contracts/queue-declaration.ts'
import type { Logger } from '../observability/logger.ts'
import type { JobOptions } from '../producer/job-options.ts'
import type { OptionsArgument } from '../producer/queue-producer.ts'
import type { SendOptions } from '../producer/send-options.ts'
import { type AbortKind, AbortReason } from './abort-reason.ts'

/** The keys of queues that hold plain messages. */
export type MessagesKey<Queues extends DeclaredQueues> = {
  [Key in keyof Queues]: Queues[Key] extends JobsQueue ? never : Key
}[keyof Queues] &
  string

export interface HandlerContext<Queues extends DeclaredQueues = DeclaredQueues> {
  /** The key of the queue. */
  readonly queue: string
  /** The job type; null for a message that is no job. */
  readonly type: string | null
  /** Of the job, or of the message. */
  readonly id: string
  /** 1 for the first. */
  readonly attempt: number
  /** After so many attempts it is over; null when nothing ends it. */
  readonly maxAttempts: number | null
  readonly owner: string | null
  readonly tenant: string | null
  readonly tier: string | null
  readonly traceId: string | null
  readonly tags: readonly string[]
  /** What the handler is given, for middleware. */
  readonly payload: unknown
  /** Rises with every lease: compare it in your own writes to keep out a worker that came late. */
  readonly token: number
  /** Aborted with an `AbortReason` when the handler should stop. */
  readonly signal: AbortSignal
  /** Writes lines that carry queue, type, id, attempt and trace. */
  readonly log: Logger

  /** Says how far the job is, 0 to 1. */
  progress(fraction: number): Promise<void>
  /** Sends a message when the handler has completed. */
  send<Key extends MessagesKey<Queues>>(
    queue: Key,
    message: MessageInput<Extract<Queues[Key], DeclaredQueue>>,
    ...options: OptionsArgument<
      Extract<Queues[Key], DeclaredQueue>,
      SendOptions<Extract<Queues[Key], DeclaredQueue>>
    >
  ): void
  /** Enqueues a job when the handler has completed. */
  enqueue<
    Key extends { [K in keyof Queues]: Queues[K] extends JobsQueue ? K : never }[keyof Queues] &
      string,
    Name extends JobTypeName<Queues[Key]>,
  >(queue: Key, type: Name, payload: JobInput<Queues[Key], Name>, options?: JobOptions): void
  /** Reports what was spent, at once and whatever becomes of the job. */
  spend(budget: string, amount: number): Promise<void>
}

/** What is known about one delivery before its handler runs. */
export type Facts = Omit<
  HandlerContext,
  'signal' | 'log' | 'payload' | 'progress' | 'send' | 'enqueue' | 'spend'
>

export interface ContextSetup {
  readonly facts: Facts
  readonly payload: unknown
  readonly log: (facts: Facts) => Logger
  readonly draftMessage: (queue: string, message: unknown, options: unknown) => Promise<Emit>
  readonly draftJob: (
    queue: string,
    type: string,
    payload: unknown,
    options: JobOptions | undefined,
  ) => Promise<EmittedJob>
  readonly reportProgress: (fraction: number) => Promise<void>
  readonly spend: (budget: string, amount: number) => Promise<void>
}

export interface Drafts {
  readonly emits: readonly Emit[]
  readonly jobs: readonly EmittedJob[]
}

const nothing: Drafts = { emits: [], jobs: [] }

/** The context of one attempt. Signal, logger and drafts are made when they are asked for. */
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
  readonly #setup: ContextSetup
  #controller: AbortController | undefined
  #abortKind: AbortKind | undefined
  #log: Logger | undefined
  #emits: Promise<Emit>[] | undefined
  #jobs: Promise<EmittedJob>[] | undefined

  constructor(setup: ContextSetup) {
    const { facts } = setup
    this.#setup = setup
    this.payload = setup.payload
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
    this.#log ??= this.#setup.log(this.#setup.facts)
    return this.#log
  }

  progress(fraction: number): Promise<void> {
    return this.#setup.reportProgress(fraction)
  }

  spend(budget: string, amount: number): Promise<void> {
    return this.#setup.spend(budget, amount)
  }

  send(queue: string, message: unknown, options?: unknown): void {
    this.#emits ??= []
    this.#emits.push(heldBack(this.#setup.draftMessage(queue, message, options)))
  }

  enqueue(queue: string, type: string, payload: unknown, options?: JobOptions): void {
    this.#jobs ??= []
    this.#jobs.push(heldBack(this.#setup.draftJob(queue, type, payload, options)))
  }

  /** Why the handler was asked to stop, if it was. */
  get abortKind(): AbortKind | undefined {
    return this.#abortKind
  }

  /** Asks the handler to stop; the first reason counts. */
  abort(kind: AbortKind): void {
    if (this.#abortKind !== undefined) return
    this.#abortKind = kind
    this.#controller?.abort(new AbortReason(kind))
  }

  /** What was sent and enqueued; rejects when any of it does not fit its contract. */
  drafts(): Drafts | Promise<Drafts> {
    if (this.#emits === undefined && this.#jobs === undefined) return nothing
    return this.#gathered()
  }

  async #gathered(): Promise<Drafts> {
    const [emits, jobs] = await Promise.all([
      Promise.all(this.#emits ?? []),
      Promise.all(this.#jobs ?? []),
    ])
    return { emits, jobs }
  }
}

/** The handler may go on for a while: a draft that was refused is looked at when it is done. */
function heldBack<T>(draft: Promise<T>): Promise<T> {
  draft.catch(() => undefined)
  return draft
}
