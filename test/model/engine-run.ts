/** Gives the same commands to an engine and to the reference model, and compares every answer. */
import assert from 'node:assert/strict'
import type { Backend, Delivery, LeaseResult, SettleResult } from '../../src/backends/backend.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { ReferenceModel } from '../../src/testing/reference-model.ts'
import type { VirtualClock } from '../../src/testing/virtual-clock.ts'
import {
  type Command,
  newMessage,
  type QueueSlot,
  queueNames,
  type Settings,
  type SingleCommand,
} from './commands.ts'
import { LeaseWatch } from './lease-watch.ts'
import { Naming } from './naming.ts'

/** The store under test. It may serve many runs, one after the other. */
export interface Engine {
  readonly clock: VirtualClock
  /** Any of the processes that have opened the store. */
  backend(): Backend
  /** Always the same process. What different ones send within a second has no order. */
  sender(): Backend
  /** Closes the store in one process and opens it again. */
  reopen(): Promise<void>
  /**
   * Several processes have opened the store. Calls of different kinds have no order, and take longer: after
   * each command one queue is compared, in turn, and not all of them.
   */
  readonly isShared?: boolean
}

/** A store whose tables a run may read beside it. */
export interface InspectedEngine extends Engine {
  rows<Row = unknown>(sql: string): Promise<readonly Row[]>
}

interface HeldReceipt {
  readonly queue: string
  readonly engine: string
  readonly model: string
  /** Of the message. */
  readonly id: string
  readonly token: number
}

const hourMs = 3_600_000

/** Longer than any retention, and gone again after the next three seconds. */
const jumpMs = 5 * 24 * hourMs
const aheadForMs = 3_000
const messageBytesMax = 1_024

/** Runs the commands on fresh queues; rejects with the first difference. */
export async function runAgainstModel(engine: Engine, commands: readonly Command[]): Promise<void> {
  const run = new EngineRun(engine)
  try {
    await run.begin()
    for (const command of commands) await run.execute(command)
  } finally {
    await run.end()
  }
}

class EngineRun {
  readonly #engine: Engine
  readonly #model: ReferenceModel
  readonly #naming = new Naming()
  readonly #watch = new LeaseWatch()
  readonly #receipts: HeldReceipt[] = []
  readonly #shortestRetentionMs = new Map<string, number>()
  #isAhead = false
  #executed = 0
  #latest: Promise<unknown> = Promise.resolve()
  /** The process that makes all calls, if it is one. */
  #caller: Backend | undefined
  readonly #latestTasks: { readonly engine: string; readonly model: string }[] = []

  constructor(engine: Engine) {
    this.#engine = engine
    this.#model = new ReferenceModel(engine.clock.now())
  }

  async begin(): Promise<void> {
    const { clock } = this.#engine
    assert.equal(clock.now(), this.#model.now)
    for (const [queue, dead] of [
      ['b', undefined],
      ['a', 'b'],
      ['g.fifo', undefined],
      ['f.fifo', 'g.fifo'],
    ] as const) {
      const deadLetter = dead === undefined ? null : { queue: dead, maxReceives: 2 }
      const settings = { deadLetter, visibilityMs: 10_000, retentionMs: 600_000 }
      await this.execute({ kind: 'create', queue, settings })
    }
  }

  /** Leaves a store behind in which the next run finds nothing of this one. */
  async end(): Promise<void> {
    const { clock } = this.#engine
    const backend = this.#engine.backend()
    for (const queue of queueNames) await backend.deleteQueue({ queue }).catch(() => undefined)
    while ((await backend.sweep()).more);
    // Where the wall clock was set back, the store's own clock is ahead; catch up with it.
    clock.jumpWall(this.#model.now - clock.now())
  }

  async execute(command: Command): Promise<void> {
    await this.#perform(command)
    this.#executed += 1
    const turn = this.#executed % queueNames.length
    const compared = this.#engine.isShared ? queueNames.slice(turn, turn + 1) : queueNames
    for (const queue of compared) {
      await this.#both(
        (backend) => backend.queueStatistics({ queue }),
        (model) => model.queueStatistics({ queue }),
      )
    }
  }

  async #perform(command: Command): Promise<void> {
    switch (command.kind) {
      case 'create':
        await this.#create(command.queue, command.settings)
        return
      case 'change':
        await this.#change(command.queue, command.settings)
        return
      case 'delete':
        await this.#both(
          (backend) => backend.deleteQueue(command),
          (model) => model.deleteQueue(command),
        )
        this.#watch.emptied(command.queue)
        return
      case 'purge':
        await this.#both(
          (backend) => backend.purgeQueue(command),
          (model) => model.purgeQueue(command),
        )
        this.#watch.emptied(command.queue)
        return
      case 'send':
        await this.#send(command)
        return
      case 'receive':
        await this.#receive(command)
        return
      case 'extend':
        await this.#extend(command)
        return
      case 'settle':
        await this.#settle(command)
        return
      case 'peek':
        await this.#peek(command.queue)
        return
      case 'together':
        this.#caller = this.#engine.sender()
        for (const commands of this.#inOrder(command.commands)) {
          await Promise.all(commands.map((one) => this.#perform(one)))
        }
        this.#caller = undefined
        return
      default:
        await this.#performOnStore(command)
    }
  }

  /** Commands whose calls have an order even if they are made at once. */
  #inOrder(commands: readonly SingleCommand[]): readonly (readonly SingleCommand[])[] {
    if (!this.#engine.isShared) return [commands]
    const groups: SingleCommand[][] = []
    for (const command of commands) {
      const latest = groups.at(-1)
      if (latest?.[0]?.kind === command.kind) latest.push(command)
      else groups.push([command])
    }
    return groups
  }

  async #performOnStore(
    command: Extract<
      Command,
      {
        kind: 'advance' | 'jumpBack' | 'jumpAhead' | 'sweep' | 'reopen' | 'startMove' | 'cancelMove'
      }
    >,
  ): Promise<void> {
    switch (command.kind) {
      case 'advance':
        await this.#advance(command.ms)
        return
      case 'jumpAhead':
        if (!this.#isAhead) this.#engine.clock.jumpWall(jumpMs)
        this.#isAhead = true
        return
      case 'jumpBack':
        this.#engine.clock.jumpWall(-hourMs)
        return
      case 'sweep':
        await this.#sweep()
        return
      case 'reopen':
        // A store cannot know of time that passed after its last write, unless the wall clock does.
        await this.#engine.backend().createQueue({ queue: 'reopened' })
        await this.#engine.backend().deleteQueue({ queue: 'reopened' })
        await this.#engine.reopen()
        return
      case 'startMove':
        await this.#startMove(command)
        return
      case 'cancelMove':
        await this.#cancelMove()
    }
  }

  async #create(queue: QueueSlot, settings: Settings): Promise<void> {
    if (queue === 'missing') return
    const request = { queue, settings: { messageBytesMax, ...withoutFifo(queue, settings) } }
    const [, model] = await this.#both(
      (backend) => backend.createQueue(request),
      (reference) => reference.createQueue(request),
    )
    if (model instanceof MillraceError || !model.created) return
    this.#shortestRetentionMs.set(queue, model.queue.settings.retentionMs)
  }

  async #change(queue: QueueSlot, settings: Settings): Promise<void> {
    const request = { queue, changes: withoutFifo(queue, settings) }
    await this.#both(
      (backend) => backend.changeQueue(request),
      (model) => model.changeQueue(request),
    )
    const shortest = this.#shortestRetentionMs.get(queue) ?? Number.POSITIVE_INFINITY
    const retentionMs = Math.min(shortest, settings.retentionMs ?? shortest)
    this.#shortestRetentionMs.set(queue, retentionMs)
  }

  async #send({
    queue,
    messages,
    allOrNothing,
  }: Extract<Command, { kind: 'send' }>): Promise<void> {
    const { now } = this.#model
    const drafts = messages.map((draft) => newMessage(draft, queue.endsWith('.fifo'), now))
    const request = { queue, messages: drafts, allOrNothing }
    await this.#both(
      (backend) => backend.send(request),
      (model) => model.send(request),
      this.#engine.sender(),
    )
  }

  async #receive(command: Extract<Command, { kind: 'receive' }>): Promise<void> {
    const { queue, max, visibilityMs, attemptId } = command
    const request = {
      queue,
      max,
      waitMs: 0,
      ...(visibilityMs !== undefined && { visibilityMs }),
      ...(attemptId !== undefined && { attemptId }),
    }
    const [engine, model] = await this.#both(
      (backend) => backend.receive(request),
      (reference) => reference.receive(request),
    )
    if (engine instanceof MillraceError || model instanceof MillraceError) return
    this.#keepReceipts(queue, engine, model)
    this.#watch.received({
      queue,
      now: this.#model.now,
      visibilityMs: visibilityMs ?? Number.POSITIVE_INFINITY,
      retentionMs: this.#shortestRetentionMs.get(queue) ?? 0,
      deliveries: engine,
    })
  }

  #keepReceipts(queue: string, engine: readonly Delivery[], model: readonly Delivery[]): void {
    for (const [index, { id, receipt, token }] of engine.entries()) {
      this.#receipts.push({ queue, engine: receipt, model: model[index]?.receipt ?? '', id, token })
    }
  }

  async #extend({ leases, foreign }: Extract<Command, { kind: 'extend' }>): Promise<void> {
    const held = leases.flatMap((lease) => ({ ...lease, held: this.#receiptAt(lease.receipt) }))
    const queue = held[0]?.held?.queue
    if (queue === undefined) return
    const other = queueNames.find((name) => name !== queue) ?? queue
    const request = (side: 'engine' | 'model') => ({
      queue: foreign ? other : queue,
      leases: held.map(({ held: receipt, visibilityMs, anyLease }) => ({
        receipt: receipt?.[side] ?? '',
        visibilityMs,
        anyLease,
      })),
    })
    const [results] = await this.#both(
      (backend) => backend.extend(request('engine')),
      (model) => model.extend(request('model')),
    )
    if (results instanceof MillraceError) return
    for (const [index, result] of results.entries()) this.#noteExtension(held[index]?.held, result)
  }

  #noteExtension(held: HeldReceipt | undefined, result: LeaseResult): void {
    if (held === undefined || result.status !== 'extended') return
    this.#watch.extended(held.id, result.leaseExpiresAt)
  }

  async #settle({ settlements }: Extract<Command, { kind: 'settle' }>): Promise<void> {
    const held = settlements.map(({ receipt }) => this.#receiptAt(receipt))
    const queue = held[0]?.queue
    if (queue === undefined) return
    const request = (side: 'engine' | 'model') => ({
      queue,
      settlements: settlements.map(({ outcome, emits }, index) => ({
        receipt: held[index]?.[side] ?? '',
        outcome,
        emits: emits.map((emit) => ({
          queue: emit.queue,
          message: newMessage(emit.message, emit.queue.endsWith('.fifo'), this.#model.now),
        })),
      })),
    })
    const [results] = await this.#both(
      (backend) => backend.settle(request('engine')),
      (model) => model.settle(request('model')),
      settlements.some(({ emits }) => emits.length > 0) ? this.#engine.sender() : undefined,
    )
    if (results instanceof MillraceError) return
    for (const [index, { outcome }] of settlements.entries()) {
      this.#noteSettlement(held[index], outcome, results[index])
    }
  }

  #noteSettlement(
    held: HeldReceipt | undefined,
    outcome: Parameters<LeaseWatch['settled']>[1],
    result: SettleResult | undefined,
  ): void {
    if (held === undefined || result?.status !== 'settled') return
    this.#watch.settled(held.token, outcome, this.#model.now)
  }

  async #peek(queue: QueueSlot): Promise<void> {
    for (const state of ['ready', 'leased', 'delayed'] as const) {
      await this.#both(
        async (backend) => {
          const { items } = await backend.peek({ queue, state, limit: 1_000 })
          return items.toSorted((one, other) => one.sequence - other.sequence)
        },
        (model) => model.peek({ queue, state }),
      )
    }
  }

  async #startMove(command: Extract<Command, { kind: 'startMove' }>): Promise<void> {
    const { source, destination, movesPerSecond } = command
    const request = {
      source,
      ...(destination !== undefined && { destination }),
      ...(movesPerSecond !== undefined && { movesPerSecond }),
    }
    const [engine, model] = await this.#both(
      (backend) => backend.startMoveTask(request),
      (reference) => reference.startMoveTask(request),
      this.#engine.sender(),
    )
    if (engine instanceof MillraceError || model instanceof MillraceError) return
    this.#latestTasks.push({ engine: engine.id, model: model.id })
  }

  async #cancelMove(): Promise<void> {
    const latest = this.#latestTasks.at(-1)
    if (latest === undefined) return
    await this.#both(
      (backend) => backend.cancelMoveTask({ id: latest.engine }),
      (model) => model.cancelMoveTask({ id: latest.model }),
    )
  }

  /** A wall clock that is ahead stays so over other commands, and changes none of their answers. */
  async #advance(ms: number): Promise<void> {
    const { clock } = this.#engine
    const aheadMs = this.#isAhead ? Math.min(ms, aheadForMs) : 0
    await clock.advance(aheadMs)
    if (this.#isAhead) clock.jumpWall(-jumpMs)
    this.#isAhead = false
    await clock.advance(ms - aheadMs)
    this.#model.advance(ms)
  }

  async #sweep(): Promise<void> {
    while ((await this.#engine.sender().sweep()).more);
    this.#model.sweep()
    for (const source of queueNames) {
      const model = this.#model.listMoveTasks({ source })
      const limit = Math.max(1, model.length)
      const engine = await outcomeOf(() => this.#engine.backend().listMoveTasks({ source, limit }))
      // Tasks are found by their source's name; those of a deleted source are out of sight.
      if (!(engine instanceof MillraceError))
        this.#naming.compare(engine.slice(0, model.length), model)
    }
  }

  #receiptAt(fromLatest: number): HeldReceipt | undefined {
    return this.#receipts.at(-1 - (fromLatest % Math.max(1, this.#receipts.length)))
  }

  /** Calls the engine at once; the model follows in the order of the calls, whoever is answered. */
  #both<E, M>(
    onEngine: (backend: Backend) => Promise<E>,
    onModel: (model: ReferenceModel) => M,
    caller: Backend | undefined = this.#caller,
  ): Promise<[E | MillraceError, M | MillraceError]> {
    const backend = caller ?? this.#engine.backend()
    const answer = outcomeOf(() => onEngine(backend))
    const earlier = this.#latest
    const compared = (async (): Promise<[E | MillraceError, M | MillraceError]> => {
      const engine = await answer
      await earlier
      const model = await outcomeOf(async () => onModel(this.#model))
      this.#naming.compare(engine, model)
      return [engine, model]
    })()
    this.#latest = compared.catch(() => undefined)
    return compared
  }
}

/** An answer, or the refusal; anything else that is thrown is a fault of the engine. */
export async function outcomeOf<T>(call: () => Promise<T>): Promise<T | MillraceError> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof MillraceError) return error
    throw error
  }
}

/** Settings of deduplication belong to FIFO queues alone. */
function withoutFifo(queue: string, settings: Settings): Settings {
  if (queue.endsWith('.fifo')) return settings
  const { deduplicateByContent: _byContent, deduplicationScope: _scope, ...rest } = settings
  return rest
}
