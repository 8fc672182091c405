/**
 * What happens in a contract test, in few words: one store, its clock, and calls for a single
 * message where the port takes many. Every helper goes through the port and nothing else.
 */
import assert from 'node:assert/strict'
import type {
  Backend,
  Delivery,
  EmittedMessage,
  LeaseResult,
  NewMessage,
  Outcome,
  PeekedMessage,
  QueueRecord,
  QueueSettings,
  QueueStatistics,
  Receive,
  SendResult,
  SettleResult,
} from '../../backends/backend.ts'
import type { ErrorCode } from '../../core/error-codes.ts'
import type { MessageState } from '../../core/message.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { ContractHarness } from './contract-harness.ts'

export const second = 1_000
export const minute: number = 60 * second
export const hour: number = 60 * minute
export const day: number = 24 * hour

/** Deduplication ids of messages that a test wants to be all different. */
let unique = 0

export class Scene {
  readonly #harness: ContractHarness
  #backend: Backend
  readonly #others: Backend[] = []

  constructor(harness: ContractHarness) {
    this.#harness = harness
    this.#backend = harness.backend
  }

  get backend(): Backend {
    return this.#backend
  }

  advance(ms: number): Promise<void> {
    return this.#harness.advance(ms)
  }

  jumpWall(ms: number): void {
    this.#harness.jumpWall?.(ms)
  }

  async reopen(): Promise<void> {
    if (this.#harness.reopen !== undefined) this.#backend = await this.#harness.reopen()
  }

  /** Another connection to the same store, by its number. */
  async another(number: number): Promise<Backend> {
    for (let opened = this.#others.length; opened <= number; opened += 1) {
      const other = await this.#harness.openAnother?.()
      assert.ok(other !== undefined, 'the harness opens no other connection')
      this.#others.push(other)
    }
    return this.#others[number] ?? this.#backend
  }

  /** Closes the connections that `another` has opened. */
  async closeOthers(): Promise<void> {
    await Promise.all(this.#others.splice(0).map((backend) => backend.close()))
  }

  async queue(queue: string, settings: Partial<QueueSettings> = {}): Promise<QueueRecord> {
    return (await this.backend.createQueue({ queue, settings })).queue
  }

  /** A queue and its dead-letter queue, named as the queue with `-dead`. */
  async queueWithDeadLetters(
    queue: string,
    maxReceives: number,
    settings: Partial<QueueSettings> = {},
  ): Promise<string> {
    const dead = queue.replace(/(\.fifo)?$/, '-dead$1')
    await this.queue(dead, { type: settings.type ?? 'standard' })
    await this.queue(queue, { ...settings, deadLetter: { queue: dead, maxReceives } })
    return dead
  }

  fifoQueue(queue: string, settings: Partial<QueueSettings> = {}): Promise<QueueRecord> {
    return this.queue(queue, { type: 'fifo', ...settings })
  }

  /** Sends messages that must be created, and returns their ids. */
  async send(queue: string, ...messages: readonly (string | NewMessage)[]): Promise<string[]> {
    const results = await this.backend.send({
      queue,
      messages: messages.map((message) =>
        typeof message === 'string' ? { body: message } : message,
      ),
    })
    return results.map((result) => created(result).id)
  }

  /** Sends messages of one group that are no duplicates of each other. */
  sendToGroup(queue: string, group: string, ...bodies: readonly string[]): Promise<string[]> {
    return this.send(queue, ...bodies.map((body) => grouped(group, body)))
  }

  async sendOne(queue: string, message: NewMessage): Promise<SendResult> {
    return only(await this.backend.send({ queue, messages: [message] }))
  }

  receive(queue: string, options: Partial<Receive> = {}): Promise<readonly Delivery[]> {
    return this.backend.receive({ queue, max: 10, waitMs: 0, ...options })
  }

  /** Receives exactly one message; none, or more than one, fails the test. */
  async receiveOne(queue: string, options: Partial<Receive> = {}): Promise<Delivery> {
    return only(await this.receive(queue, { max: 1, ...options }))
  }

  async receiveBodies(queue: string, options: Partial<Receive> = {}): Promise<string[]> {
    return (await this.receive(queue, options)).map(({ body }) => body)
  }

  async extend(queue: string, receipt: string, visibilityMs: number): Promise<LeaseResult> {
    return only(await this.backend.extend({ queue, leases: [{ receipt, visibilityMs }] }))
  }

  /** Where standard queues keep no order, none is compared. */
  inOrder(bodies: readonly string[]): readonly string[] {
    return this.backend.capabilities.ordered ? bodies : bodies.toSorted()
  }

  async settle(
    queue: string,
    receipt: string,
    outcome: Outcome,
    emits: readonly EmittedMessage[] = [],
  ): Promise<SettleResult> {
    return only(await this.backend.settle({ queue, settlements: [{ receipt, outcome, emits }] }))
  }

  acknowledge(queue: string, receipt: string): Promise<SettleResult> {
    return this.settle(queue, receipt, { kind: 'acknowledge' })
  }

  statistics(queue: string): Promise<QueueStatistics> {
    return this.backend.queueStatistics({ queue })
  }

  async counts(queue: string): Promise<Record<MessageState, number>> {
    const { ready, leased, delayed } = await this.statistics(queue)
    return { ready, leased, delayed }
  }

  async peek(queue: string, state: MessageState): Promise<readonly PeekedMessage[]> {
    return (await this.backend.peek({ queue, state, limit: 1_000 })).items
  }

  async peekBodies(queue: string, state: MessageState): Promise<string[]> {
    return (await this.peek(queue, state)).map(({ body }) => body)
  }

  /** Sweeps until a slice finds nothing more to do at this moment. */
  async sweep(): Promise<void> {
    for (let slice = 0; slice < 10_000; slice += 1) {
      if (!(await this.backend.sweep()).more) return
    }
    assert.fail('maintenance did not end')
  }
}

export function grouped(group: string, body: string): NewMessage {
  unique += 1
  return { body, group, deduplicationId: `unique-${unique}` }
}

export function only<T>(items: readonly T[]): T {
  const [first] = items
  assert.equal(items.length, 1, `expected one item, got ${items.length}`)
  return first as T
}

export function created(result: SendResult): { readonly id: string; readonly sequence: number } {
  if (result.status === 'refused') throw result.error
  assert.equal(result.status, 'created')
  return result
}

/** The call as a whole is refused with one of these codes. */
export async function rejects(call: Promise<unknown>, ...codes: ErrorCode[]): Promise<void> {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof MillraceError, `not a MillraceError: ${String(error)}`)
    assert.ok(codes.includes(error.code), `refused with ${error.code}, not ${codes.join(' or ')}`)
    return true
  })
}

/** One entry of a call on many messages is refused with one of these codes. */
export function assertRefused(
  result: { readonly status: string; readonly error?: MillraceError },
  ...codes: ErrorCode[]
): void {
  assert.equal(result.status, 'refused')
  assert.ok(result.error instanceof MillraceError)
  const { code } = result.error
  assert.ok(codes.includes(code), `refused with ${code}, not ${codes.join(' or ')}`)
}
