/**
 * What a backend must do, in the plainest way: arrays, linear scans, one call at a time. Slow, and
 * meant to be read. A backend is right when, call by call, its results equal those of this model up to
 * the values of ids, receipts, sequence numbers and tokens.
 *
 * Arguments are taken to be within their limits; that part of a backend is tested elsewhere.
 */
import { hash } from 'node:crypto'
import type {
  ChangeQueue,
  CreatedQueue,
  CreateQueue,
  Delivery,
  Extend,
  LeaseResult,
  MoveTask,
  NewMessage,
  PeekedMessage,
  QueueName,
  QueueRecord,
  QueueSettings,
  QueueStatistics,
  Receive,
  Send,
  SendResult,
  Settle,
  Settlement,
  SettleResult,
  StartMoveTask,
} from '../backends/backend.ts'
import { delayOf, refuseMessage } from '../core/check-message.ts'
import { deduplicationWindowMs, leaseMsMax } from '../core/limits.ts'
import type { MessageState } from '../core/message.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { defaultQueueSettings } from '../core/queue-settings.ts'
import { ReferenceMoveTasks } from './reference-move-tasks.ts'
import {
  canDieInto,
  catchUp,
  delivery,
  emptyQueue,
  findHeld,
  inState,
  isLeased,
  type ModelMessage,
  type ModelQueue,
  openMessages,
  queueNamed,
  refusedWith,
  refuseLate,
  remove,
  requireQueue,
  sentMessage,
  stored,
} from './reference-queue.ts'

type Counter = 'queue' | 'message' | 'sequence' | 'token'

export class ReferenceModel {
  readonly #queues: ModelQueue[] = []
  readonly #moveTasks: ReferenceMoveTasks
  #now: number
  readonly #last: Record<Counter, number> = { queue: 0, message: 0, sequence: 0, token: 0 }

  constructor(startAt: number) {
    this.#now = startAt
    this.#moveTasks = new ReferenceMoveTasks({
      queues: this.#queues,
      now: () => this.#now,
      lastSequence: () => this.#last.sequence,
      nextIdentity: () => this.#nextIdentity(),
    })
  }

  get now(): number {
    return this.#now
  }

  advance(ms: number): void {
    this.#now += ms
    for (const queue of this.#queues) this.#catchUp(queue)
  }

  createQueue({ queue: name, settings = {}, tags = {} }: CreateQueue): CreatedQueue {
    const existing = this.#queues.find(({ record }) => record.name === name)
    if (existing !== undefined) {
      const own: Readonly<Record<string, unknown>> = { ...existing.record.settings }
      const differs = Object.entries(settings).some(
        ([key, value]) => JSON.stringify(own[key]) !== JSON.stringify(value),
      )
      if (differs) throw new MillraceError('queue_exists')
      return { queue: existing.record, created: false }
    }
    const type = settings.type ?? (name.endsWith('.fifo') ? 'fifo' : 'standard')
    const full: QueueSettings = { ...defaultQueueSettings, ...settings, type }
    this.#refuseDeadLetter(name, full)
    const times = { createdAt: this.#now, changedAt: this.#now }
    const queue = emptyQueue(this.#next('queue'), { name, settings: full, tags, ...times })
    this.#queues.push(queue)
    return { queue: queue.record, created: true }
  }

  changeQueue({ queue: name, changes }: ChangeQueue): QueueRecord {
    const queue = this.#require(name)
    const settings = { ...queue.record.settings, ...changes }
    if (changes.deadLetter) this.#refuseDeadLetter(name, settings)
    queue.record = { ...queue.record, settings, changedAt: this.#now }
    this.#catchUp(queue)
    return queue.record
  }

  deleteQueue({ queue: name }: QueueName): void {
    this.#queues.splice(this.#queues.indexOf(this.#require(name)), 1)
  }

  purgeQueue({ queue: name }: QueueName): void {
    const queue = this.#require(name)
    queue.messages = []
    queue.returnedAt.clear()
    queue.remembered = []
    queue.attempts.clear()
  }

  queueStatistics({ queue: name }: QueueName): QueueStatistics {
    const queue = this.#require(name)
    const count = (state: MessageState): number => inState(queue, state).length
    const [oldest] = inState(queue, 'ready')
    return {
      ready: count('ready'),
      leased: count('leased'),
      delayed: count('delayed'),
      oldestReadyAgeMs: oldest === undefined ? null : this.#now - oldest.keptFrom,
      totals: { ...queue.totals },
    }
  }

  peek({ queue: name, state }: QueueName & { readonly state: MessageState }): PeekedMessage[] {
    return inState(this.#require(name), state).map((message) => ({
      ...stored(message),
      state,
      dueAt: state === 'ready' ? null : message.visibleAt,
    }))
  }

  send({ queue: name, messages, allOrNothing = false }: Send): readonly SendResult[] {
    const queue = this.#require(name)
    const refusals = messages.map((message) =>
      refuseMessage(message, queue.record.settings, this.#now),
    )
    const first = refusals.find((refusal) => refusal !== undefined)
    if (allOrNothing && first !== undefined) throw first
    return messages.map((message, index) => {
      const error = refusals[index]
      return error === undefined ? this.#store(queue, message) : { status: 'refused', error }
    })
  }

  receive(request: Receive): readonly Delivery[] {
    const queue = this.#require(request.queue)
    const { settings } = queue.record
    const visibilityMs = request.visibilityMs ?? settings.visibilityMs
    const attemptId = settings.type === 'fifo' ? request.attemptId : undefined
    const deliveries =
      this.#recall(queue, attemptId, visibilityMs) ??
      this.#claim(queue, { max: request.max, visibilityMs })
    if (attemptId !== undefined && deliveries.length > 0) {
      queue.attempts.set(attemptId, { deliveries, until: this.#now + deduplicationWindowMs })
    }
    this.#catchUp(queue)
    return deliveries
  }

  extend({ queue: name, leases }: Extend): readonly LeaseResult[] {
    const queue = this.#require(name)
    return leases.map(({ receipt, visibilityMs, anyLease = false }) => {
      const held = findHeld(queue, receipt)
      if (held === 'invalid') return refusedWith('receipt_invalid')
      const { refusal, message } = held
      if (message === undefined) return { status: refusal }
      const isLateButFine = anyLease && queue.record.settings.type === 'standard'
      if (refusal !== undefined && !isLateButFine) return { status: refusal }
      if (refusal === 'stale' && isLeased(message)) return { status: refusal, isHeld: true }
      const leaseExpiresAt = this.#now + visibilityMs
      if (leaseExpiresAt > message.leasedAt + leaseMsMax) {
        return refusedWith('invalid_argument')
      }
      Object.assign(message, { state: 'leased', visibleAt: leaseExpiresAt })
      // Hidden by an older receipt, it is held by none.
      if (refusal === 'stale' && visibilityMs > 0) message.token = null
      this.#catchUp(queue)
      return { status: 'extended', leaseExpiresAt }
    })
  }

  settle({ queue: name, settlements }: Settle): readonly SettleResult[] {
    const queue = this.#require(name)
    return settlements.map((settlement) => this.#settleOne(queue, settlement))
  }

  startMoveTask(request: StartMoveTask): MoveTask {
    return this.#moveTasks.start(request)
  }

  cancelMoveTask({ id }: { readonly id: string }): MoveTask {
    return this.#moveTasks.cancel(id)
  }

  listMoveTasks({ source }: { readonly source: string }): readonly MoveTask[] {
    return this.#moveTasks.list(source)
  }

  /** All maintenance that is due at this moment; every call first applies the time that has passed. */
  sweep(): void {
    this.#moveTasks.carryOn()
  }

  #next(counter: Counter): number {
    this.#last[counter] += 1
    return this.#last[counter]
  }

  #nextIdentity(): { readonly id: string; readonly sequence: number } {
    return { id: `message-${this.#next('message')}`, sequence: this.#next('sequence') }
  }

  #lookUp(name: string): ModelQueue | undefined {
    return queueNamed(this.#queues, name)
  }

  #require(name: string): ModelQueue {
    return requireQueue(this.#queues, name)
  }

  #refuseDeadLetter(name: string, settings: QueueSettings): void {
    if (!canDieInto((queue) => this.#lookUp(queue), name, settings)) {
      throw new MillraceError('invalid_argument')
    }
  }

  /** What the passing of time does: retention, leases and delays end. */
  #catchUp(queue: ModelQueue): void {
    catchUp(queue, this.#now)
  }

  #store(queue: ModelQueue, message: NewMessage): SendResult {
    const { type, deduplicationScope } = queue.record.settings
    const fifo = type === 'fifo'
    const deduplicationId = fifo ? (message.deduplicationId ?? hash('sha256', message.body)) : null
    const scope = deduplicationScope === 'group' ? (message.group ?? '') : ''
    if (deduplicationId !== null) {
      const twin = queue.remembered.find(
        (entry) => entry.id === deduplicationId && entry.scope === scope && entry.until > this.#now,
      )
      if (twin !== undefined) {
        queue.totals.deduplicated += 1
        return { status: 'duplicate', ...twin.first }
      }
    }
    const delayMs = delayOf(message, queue.record.settings, this.#now)
    const identity = this.#nextIdentity()
    const times = { now: this.#now, delayMs }
    queue.messages.push(sentMessage(message, { ...identity, deduplicationId }, times))
    if (deduplicationId !== null) {
      const until = this.#now + deduplicationWindowMs
      queue.remembered.push({ scope, id: deduplicationId, first: identity, until })
    }
    queue.totals.sent += 1
    return { status: 'created', ...identity }
  }

  #claim(queue: ModelQueue, claim: { max: number; visibilityMs: number }): Delivery[] {
    const deliveries: Delivery[] = []
    while (deliveries.length < claim.max) {
      const open = openMessages(queue)
      if (open.length === 0) break
      for (const message of open) {
        if (deliveries.length === claim.max) break
        if (this.#diesNow(queue, message)) this.#deadLetter(queue, message, null)
        else deliveries.push(this.#lease(queue, message, claim.visibilityMs))
      }
    }
    return deliveries
  }

  #diesNow(queue: ModelQueue, { receiveCount }: ModelMessage): boolean {
    const max = queue.record.settings.deadLetter?.maxReceives ?? Number.POSITIVE_INFINITY
    return receiveCount >= max && this.#deadLettersOf(queue) !== undefined
  }

  /** A queue that is its own dead-letter queue has none. */
  #deadLettersOf({ record: { name, settings } }: ModelQueue): ModelQueue | undefined {
    const target = settings.deadLetter?.queue
    return target === undefined || target === name ? undefined : this.#lookUp(target)
  }

  #lease(queue: ModelQueue, message: ModelMessage, visibilityMs: number): Delivery {
    message.state = 'leased'
    message.token = this.#next('token')
    message.leasedAt = this.#now
    message.visibleAt = this.#now + visibilityMs
    message.receiveCount += 1
    message.firstReceivedAt ??= this.#now
    queue.totals.received += 1
    return delivery(queue, message, { token: message.token, leasedAt: this.#now })
  }

  /** The same messages for the same attempt, as long as none of them was touched. */
  #recall(
    queue: ModelQueue,
    attemptId: string | undefined,
    visibilityMs: number,
  ): Delivery[] | undefined {
    const attempt = attemptId === undefined ? undefined : queue.attempts.get(attemptId)
    if (attempt === undefined || attempt.until <= this.#now) return undefined
    const held = attempt.deliveries.map(({ sequence, token, leaseExpiresAt }) =>
      inState(queue, 'leased').find(
        (message) =>
          message.sequence === sequence &&
          message.token === token &&
          message.visibleAt === leaseExpiresAt,
      ),
    )
    if (held.includes(undefined)) return undefined
    return held
      .filter((message) => message !== undefined)
      .map((message) => {
        message.visibleAt = this.#now + visibilityMs
        return delivery(queue, message, { token: message.token ?? 0, leasedAt: this.#now })
      })
  }

  #settleOne(queue: ModelQueue, { receipt, outcome, emits = [] }: Settlement): SettleResult {
    const held = findHeld(queue, receipt)
    if (held === 'invalid') return refusedWith('receipt_invalid')
    if (outcome.kind === 'deadLetter' && this.#deadLettersOf(queue) === undefined) {
      return refusedWith('dead_letter_missing')
    }
    for (const emit of emits) {
      const to = this.#lookUp(emit.queue)
      if (to === undefined) return refusedWith('queue_not_found')
      const error = refuseMessage(emit.message, to.record.settings, this.#now)
      if (error !== undefined) return { status: 'refused', error }
    }
    const { refusal, message } = held
    if (message === undefined) return { status: refusal }
    const late = refuseLate(queue, held, outcome)
    if (late !== undefined) return late
    this.#apply(queue, message, outcome)
    this.#catchUp(queue)
    return {
      status: 'settled',
      emitted: emits.map((emit) => this.#store(this.#require(emit.queue), emit.message)),
      enqueued: [],
    }
  }

  #apply(queue: ModelQueue, message: ModelMessage, outcome: Settlement['outcome']): void {
    if (outcome.kind === 'acknowledge') {
      remove(queue, message)
      queue.totals.acknowledged += 1
      return
    }
    if (outcome.kind === 'deadLetter') {
      this.#deadLetter(queue, message, outcome.reason)
      return
    }
    message.token = null
    if (outcome.kind === 'retry') {
      message.visibleAt = this.#now + outcome.delayMs
      return
    }
    message.visibleAt = this.#now
    message.receiveCount -= 1
    if (message.receiveCount === 0) message.firstReceivedAt = null
  }

  #deadLetter(queue: ModelQueue, message: ModelMessage, reason: string | null): void {
    const target = this.#require(queue.record.settings.deadLetter?.queue ?? '')
    remove(queue, message)
    queue.totals.deadLettered += 1
    message.state = 'ready'
    message.token = null
    message.deadLetterOrigin = { source: queue.record.name, at: this.#now, reason }
    if (target.record.settings.type === 'fifo') {
      message.sequence = this.#next('sequence')
      message.sentAt = this.#now
      message.keptFrom = this.#now
      message.deduplicationId = message.id
    }
    target.messages.push(message)
    this.#catchUp(target)
  }
}
