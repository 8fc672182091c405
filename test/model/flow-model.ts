/**
 * Fan-in as a plain model in memory: two queues, flows, and nothing about how a store does it. It says
 * what every flow, unit and message must be like after each step of a random run.
 */
import type { FlowStatus, UnitFailurePolicy, UnitState } from '../../src/backends/flow-store.ts'

export const leaseMs = 10_000
export const maxReceives = 2

export type ModelQueue = 'work' | 'work-dead' | 'ends' | 'failures'

export interface ModelMessage {
  /** Its name; redelivered and redriven it stays the same. */
  readonly body: string
  queue: ModelQueue
  /** Its place in the queue. It gets another one when it is moved back. */
  order: number
  /** Its place among the messages of the store, as far as that is known. */
  position: number
  unit: ModelUnit | null
  receives: number
  /** Of its latest lease; undefined when that was handed back. */
  lease: ModelLease | undefined
  /** It can be received from then on. */
  readyAt: number
}

/** A message that was received, and the unit that it worked on at that moment. */
export interface Taken {
  readonly message: ModelMessage
  readonly unit: ModelUnit | null
}

/** A lease is known by the object. */
export interface ModelLease {
  readonly until: number
}

export interface ModelUnit {
  readonly id: string
  readonly flow: ModelFlow
  state: UnitState
  started: boolean
  message: ModelMessage | null
}

export interface ModelFlow {
  readonly id: string
  readonly policy: UnitFailurePolicy
  readonly parent: ModelUnit | null
  readonly hasFinalize: boolean
  readonly units: Map<string, ModelUnit>
  isSealed: boolean
  status: FlowStatus
  /** What was spent on its units, and on flows that took their place. */
  spent: number
}

export interface Opening {
  readonly id: string
  readonly policy: UnitFailurePolicy
  readonly parent: ModelUnit | null
  readonly hasFinalize: boolean
  readonly isSealed: boolean
  readonly units: readonly NewModelUnit[]
}

export interface NewModelUnit {
  readonly id: string
  /** The body of its message, if it has one. */
  readonly body: string | undefined
}

export class FlowModel {
  now = 0
  readonly flows: Map<string, ModelFlow> = new Map()
  readonly messages: Set<ModelMessage> = new Set()
  /** Bodies of messages that went with the flow that was cancelled. */
  readonly takenBack: Set<string> = new Set()
  /** Messages that are in no queue any more, whose units have not heard of it. */
  readonly #purged: Set<ModelMessage> = new Set()
  #order = 0

  open(opening: Opening): ModelFlow {
    const { id, policy, parent, hasFinalize, isSealed, units } = opening
    const flow: ModelFlow = {
      id,
      policy,
      parent,
      hasFinalize,
      units: new Map(),
      isSealed: false,
      status: 'open',
      spent: 0,
    }
    this.flows.set(id, flow)
    this.add(flow, units)
    if (isSealed) this.seal(flow)
    return flow
  }

  add(flow: ModelFlow, units: readonly NewModelUnit[]): void {
    for (const { id, body } of units) {
      if (flow.units.has(id)) continue
      const unit: ModelUnit = { id, flow, state: 'pending', started: false, message: null }
      flow.units.set(id, unit)
      if (body !== undefined) this.#work(unit, body)
    }
  }

  spend(unit: ModelUnit | null, amount: number): void {
    for (let at = unit; at !== null; at = at.flow.parent) at.flow.spent += amount
  }

  seal(flow: ModelFlow): void {
    if (flow.status !== 'open') return
    flow.isSealed = true
    this.#endIfDone(flow)
  }

  start(unit: ModelUnit, body: string): void {
    const { flow, state, started } = unit
    if (flow.status === 'open' && state === 'pending' && !started) this.#work(unit, body)
  }

  mark(unit: ModelUnit, state: 'done' | 'dead'): void {
    if (unit.state === 'done' || unit.state === state) return
    unit.state = state
    const { flow } = unit
    if (state === 'dead' && flow.policy === 'fail' && flow.status === 'open') this.#fail(flow)
    this.#endIfDone(flow)
  }

  cancel(flow: ModelFlow): void {
    if (flow.status !== 'open') return
    flow.status = 'cancelled'
    if (flow.parent !== null) this.mark(flow.parent, 'dead')
  }

  resume(unit: ModelUnit, body: string): void {
    const { flow } = unit
    flow.status = 'open'
    if (unit.state !== 'pending' || unit.message === null) {
      if (unit.message !== null) unit.message.unit = null
      unit.state = 'pending'
      this.#work(unit, body)
    }
    if (flow.parent !== null) this.#revive(flow.parent)
    this.#endIfDone(flow)
  }

  /** Puts messages in this order. */
  arrange(bodies: readonly string[]): void {
    for (const message of this.messages) message.position = bodies.indexOf(message.body)
  }

  /** What a receive gets: what is ready, in order, past those whose receives are used up. */
  receive(queue: ModelQueue, max: number): readonly Taken[] {
    const taken: Taken[] = []
    for (const message of this.#inOrder(queue)) {
      if (taken.length === max) break
      if (message.readyAt > this.now) continue
      if (queue === 'work' && message.receives >= maxReceives) {
        this.#bury(message)
        continue
      }
      message.receives += 1
      message.readyAt = this.now + leaseMs
      message.lease = { until: message.readyAt }
      taken.push({ message, unit: message.unit })
    }
    return taken
  }

  /** Whether the lease is the latest; a standard queue takes late acknowledgements. */
  isLatest(message: ModelMessage, lease: ModelLease | undefined): boolean {
    return this.messages.has(message) && message.lease === lease
  }

  isLive(message: ModelMessage, lease: ModelLease): boolean {
    return this.isLatest(message, lease) && lease.until > this.now
  }

  /** What comes with it is done before it, but cannot take its unit away. */
  acknowledge(message: ModelMessage, marked?: ModelUnit): void {
    const { unit } = message
    this.messages.delete(message)
    if (marked !== undefined) this.mark(marked, 'done')
    if (unit === null) return
    if (unit.message === message) unit.message = null
    this.mark(unit, 'done')
  }

  handBack(message: ModelMessage, delayMs: number, countsReceive: boolean): void {
    message.lease = undefined
    message.readyAt = this.now + delayMs
    if (!countsReceive) message.receives -= 1
  }

  bury(message: ModelMessage): void {
    this.#bury(message)
  }

  /** Moves what is ready among dead letters back to where it died. */
  redrive(): void {
    for (const message of this.#inOrder('work-dead')) {
      if (message.readyAt > this.now) continue
      this.#order += 1
      const place = { queue: 'work', order: this.#order, position: this.#order }
      Object.assign(message, { ...place, receives: 0, lease: undefined })
      if (message.unit !== null) this.#revive(message.unit)
    }
  }

  /** What is ready goes first, then what is in hand or waits; what that ends may depend on it. */
  purge(queue: ModelQueue): void {
    const all = this.#inOrder(queue)
    const isReady = ({ readyAt }: ModelMessage): boolean => readyAt <= this.now
    const waiting = all
      .filter((message) => !isReady(message))
      .sort((left, right) => left.readyAt - right.readyAt)
    for (const message of [...all.filter(isReady), ...waiting]) {
      this.messages.delete(message)
      this.#purged.add(message)
    }
  }

  /** What upkeep does to cancelled flows and to purged messages, until there is nothing left to do. */
  sweep(): void {
    let before: number
    do {
      before = [...this.flows.values()].filter(({ status }) => status === 'cancelled').length
      for (const flow of this.flows.values()) if (flow.status === 'cancelled') this.#takeBack(flow)
    } while (
      before !== [...this.flows.values()].filter(({ status }) => status === 'cancelled').length
    )
    for (const message of this.#purged) this.#ended(message, 'dead')
    this.#purged.clear()
  }

  #takeBack(cancelled: ModelFlow): void {
    for (const flow of this.flows.values()) {
      const isOpen = flow.status === 'open' && flow.parent?.flow === cancelled
      if (isOpen) flow.status = 'cancelled'
    }
    for (const unit of cancelled.units.values()) {
      if (unit.state !== 'pending') continue
      const { message } = unit
      const isHeld = message?.lease !== undefined && message.lease.until > this.now
      if (isHeld || (message !== null && this.#purged.has(message))) continue
      if (message !== null) {
        this.messages.delete(message)
        this.takenBack.add(message.body)
        this.#ended(message, 'dead')
      }
      this.mark(unit, 'dead')
    }
  }

  #inOrder(queue: ModelQueue): readonly ModelMessage[] {
    return [...this.messages]
      .filter((message) => message.queue === queue)
      .sort((left, right) => left.position - right.position)
  }

  #send(queue: ModelQueue, body: string, unit: ModelUnit | null): void {
    this.#order += 1
    const message: ModelMessage = {
      body,
      queue,
      order: this.#order,
      position: this.#order,
      unit,
      receives: 0,
      lease: undefined,
      readyAt: this.now,
    }
    this.messages.add(message)
    if (unit === null) return
    if (unit.message !== null) unit.message.unit = null
    unit.message = message
    unit.started = true
  }

  #work(unit: ModelUnit, body: string): void {
    this.#send('work', body, unit)
  }

  #bury(message: ModelMessage): void {
    message.queue = 'work-dead'
    message.lease = undefined
    message.readyAt = this.now
    if (message.unit !== null) this.mark(message.unit, 'dead')
  }

  #ended({ unit }: ModelMessage, state: 'done' | 'dead'): void {
    if (unit === null) return
    unit.message = null
    this.mark(unit, state)
  }

  #revive(unit: ModelUnit): void {
    if (unit.state === 'dead' && unit.flow.status === 'open') unit.state = 'pending'
  }

  #fail(flow: ModelFlow): void {
    flow.status = 'failed'
    this.#send('failures', `${flow.id} has failed`, null)
    if (flow.parent !== null) this.mark(flow.parent, 'dead')
  }

  #endIfDone(flow: ModelFlow): void {
    if (flow.status !== 'open' || !flow.isSealed) return
    for (const { state } of flow.units.values()) {
      if (state === 'pending' || (state === 'dead' && flow.policy !== 'finalize')) return
    }
    flow.status = 'finalized'
    if (flow.hasFinalize) this.#send('ends', `${flow.id} is done`, flow.parent)
    else if (flow.parent !== null) this.mark(flow.parent, 'done')
  }
}
