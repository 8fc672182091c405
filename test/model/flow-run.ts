/** Takes random steps over fan-in on a store and on the plain model, and compares them after each. */
import assert from 'node:assert/strict'
import type { Backend, Outcome, Settlement } from '../../src/backends/backend.ts'
import type { FlowStore, NewUnit } from '../../src/backends/flow-store.ts'
import type { Randomness } from '../../src/core/ports.ts'
import { brokenFlows } from '../support/flow-inspection.ts'
import { Chances } from './chances.ts'
import type { Faults, Tried } from './commit-faults.ts'
import type { InspectedEngine } from './engine-run.ts'
import {
  FlowModel,
  leaseMs,
  type ModelFlow,
  type ModelLease,
  type ModelMessage,
  type ModelQueue,
  type ModelUnit,
  maxReceives,
  type NewModelUnit,
} from './flow-model.ts'

const name = 'app-dev-pages'
const keepMs = 86_400_000
const queues = ['work', 'work-dead', 'ends', 'failures'] as const

const allMessages = `
  SELECT queue.name || ': ' || message.body AS message
  FROM message JOIN queue ON queue.generation = message.generation`

export interface FlowRunSetup {
  readonly engine: InspectedEngine
  readonly faults: Faults
  readonly randomness: Randomness
  /** Unique among the runs of a store. */
  readonly run: string
}

export async function prepareQueues(backend: Backend): Promise<void> {
  const settings = { visibilityMs: leaseMs, retentionMs: 1_209_600_000 }
  for (const queue of ['work-dead', 'ends', 'failures'])
    await backend.createQueue({ queue, settings })
  const deadLetter = { queue: 'work-dead', maxReceives }
  await backend.createQueue({ queue: 'work', settings: { ...settings, deadLetter } })
}

interface Held {
  readonly queue: ModelQueue
  readonly receipt: string
  readonly message: ModelMessage
  readonly lease: ModelLease
  /** Receipts of a message that was moved name another one than it is now. */
  readonly order: number
}

/** Never reached. */
const llm = { budget: 'llm', limit: 1e15, perMs: null, unit: null } as const
const budgets = [{ ...llm, trips: 'LLM_PAUSED', mode: 'hold' }] as const

export class FlowRun {
  readonly #chances: Chances
  readonly #setup: FlowRunSetup
  readonly #model = new FlowModel()
  readonly #held: Held[] = []
  readonly #ended = new Set<string>()
  #names = 0
  /** What was done, for the one who reads about a failure. */
  readonly steps: string[] = []

  constructor(setup: FlowRunSetup) {
    this.#setup = setup
    this.#chances = new Chances(setup.randomness)
    this.#model.now = setup.engine.clock.now()
  }

  async run(steps: number): Promise<void> {
    await this.#backend.budgets?.declare({ scope: 'model/dev', budgets })
    for (let step = 0; step < steps; step += 1) {
      await this.#step(
        this.#chances.is(0.08) ? this.#chances.pick(this.#setup.faults.kinds) : undefined,
      )
      await this.#compare()
    }
    await this.#heal()
  }

  get #flows(): FlowStore {
    const { flows } = this.#setup.engine.backend()
    assert.ok(flows !== null)
    return flows
  }

  get #backend(): Backend {
    return this.#setup.engine.backend()
  }

  async #step(fault: string | undefined): Promise<void> {
    await this.#chances.take([
      [6, () => this.#open(fault)],
      [4, () => this.#add(fault)],
      [3, () => this.#seal(fault)],
      [12, () => this.#receive('work', fault)],
      [3, () => this.#receive('ends', fault)],
      [2, () => this.#receive('work-dead', fault)],
      [22, () => this.#settle(fault)],
      [3, () => this.#mark(fault)],
      [3, () => this.#startUnit(fault)],
      [1, () => this.#cancel(fault)],
      [2, () => this.#resume(fault)],
      [2, () => this.#redrive()],
      [0.3, () => this.#purge()],
      [3, () => this.#advance(this.#chances.pick([500, leaseMs, leaseMs + 1]))],
      [2, () => this.#sweep(fault)],
    ])
  }

  async #open(fault: string | undefined): Promise<void> {
    const isKnown = this.#chances.is(0.2) ? this.#anyFlow() : undefined
    const id = isKnown?.id ?? this.#newName('flow')
    const parent = this.#chances.is(0.3)
      ? this.#anyUnit(({ flow }) => flow.status === 'open')
      : undefined
    const policy = this.#chances.pick(['wait', 'fail', 'finalize'] as const)
    const units = this.#newUnits(4)
    const isSealed = this.#chances.is(0.6)
    const hasFinalize = this.#chances.is(0.8)
    const request = {
      flow: name,
      id,
      units: units.map(workOf),
      sealed: isSealed,
      onUnitFailure: policy,
      keepMs,
      ...(hasFinalize && { finalize: { queue: 'ends', message: { body: `${id} is done` } } }),
      failed: { queue: 'failures', message: { body: `${id} has failed` } },
      ...(parent !== undefined && { parent: { flow: name, id: parent.flow.id, unit: parent.id } }),
    }
    const { isKept, answer } = await this.#tried(`open ${id}`, fault, () =>
      this.#flows.open(request),
    )
    if (answer !== undefined) assert.equal(answer.status, isKnown ? 'duplicate' : 'created')
    if (!isKept || isKnown !== undefined) return
    this.#model.open({ id, policy, parent: parent ?? null, hasFinalize, isSealed, units })
  }

  async #add(fault: string | undefined): Promise<void> {
    const flow = this.#anyFlow()
    if (flow === undefined) return
    const known = [...flow.units.keys()].slice(0, 2).map((id) => ({ id, body: `${id} twice` }))
    const units = [...known, ...this.#newUnits(3)]
    const isRefused = (flow.isSealed || flow.status !== 'open') && units.length > known.length
    const request = { flow: name, id: flow.id, units: units.map(workOf) }
    const add = (): Promise<unknown> => this.#flows.add(request)
    if (isRefused) {
      const code = flow.status === 'open' ? 'flow_sealed' : 'flow_finished'
      await assert.rejects(add(), { code })
      return
    }
    const { isKept } = await this.#tried(`add to ${flow.id}`, fault, add)
    if (isKept) this.#model.add(flow, units)
  }

  async #seal(fault: string | undefined): Promise<void> {
    const flow = this.#anyFlow()
    if (flow === undefined) return
    const request = { flow: name, id: flow.id }
    const { isKept } = await this.#tried(`seal ${flow.id}`, fault, () => this.#flows.seal(request))
    if (isKept) this.#model.seal(flow)
  }

  async #receive(queue: ModelQueue, fault: string | undefined): Promise<void> {
    const max = this.#chances.pick([1, 2, 3])
    await this.#arrange()
    const { isKept, answer: deliveries } = await this.#tried(`receive from ${queue}`, fault, () =>
      this.#backend.receive({ queue, max, waitMs: 0 }),
    )
    if (!isKept) return
    const taken = this.#model.receive(queue, max)
    // Who crashed after the commit has leases that nobody knows of.
    if (deliveries === undefined) return
    assert.deepEqual(
      deliveries.map(({ body, unit }) => [body, unit?.unit ?? null, unit?.id ?? null]),
      taken.map(({ message, unit }) => [message.body, unit?.id ?? null, unit?.flow.id ?? null]),
    )
    for (const [index, { message }] of taken.entries()) {
      const { receipt = '' } = deliveries[index] ?? {}
      const { order, lease } = message
      if (lease !== undefined) this.#held.push({ queue, receipt, message, lease, order })
    }
  }

  async #settle(fault: string | undefined): Promise<void> {
    const held = this.#chances.pick(this.#held)
    if (held === undefined) return
    const kind = this.#chances.pick([
      'acknowledge',
      'acknowledge',
      'any',
      'retry',
      'release',
      'deadLetter',
    ])
    if (kind === 'deadLetter' && held.queue !== 'work') return
    const outcomes: Readonly<Record<string, Outcome>> = {
      acknowledge: { kind: 'acknowledge' },
      any: { kind: 'acknowledge', anyLease: true },
      retry: { kind: 'retry', delayMs: this.#chances.pick([0, 5_000]) },
      release: { kind: 'release' },
      deadLetter: { kind: 'deadLetter', reason: 'unreadable' },
    }
    const outcome = outcomes[kind] ?? assert.fail()
    const marked = this.#chances.is(0.2) ? this.#anyUnit() : undefined
    const isDone = outcome.kind === 'acknowledge'
    const amount = this.#chances.is(0.3) ? 1 : 0
    const settlement: Settlement = {
      receipt: held.receipt,
      outcome,
      ...(amount > 0 && { spent: [{ budget: 'llm', amount }] }),
      ...(isDone && marked !== undefined && { marks: [markOf(marked, 'done')] }),
    }
    const does = this.#mayEnd(held, outcome)
    const what = `${kind} ${held.message.body} in ${held.queue}`
    const { isKept, answer: results } = await this.#tried(what, fault, () =>
      this.#backend.settle({ queue: held.queue, settlements: [settlement] }),
    )
    if (results !== undefined) assert.equal(results[0]?.status === 'settled', does, what)
    if (!isKept || !does) return
    this.#model.spend(held.message.unit, amount)
    this.#apply(held.message, outcome)
    if (isDone) this.#endOwn(held.message, marked)
  }

  /** Whether the store has to accept it. */
  #mayEnd({ queue, message, lease, order }: Held, outcome: Outcome): boolean {
    const model = this.#model
    if (!model.messages.has(message) || message.queue !== queue || message.order !== order) {
      return false
    }
    if (outcome.kind !== 'acknowledge') return model.isLive(message, lease)
    if (outcome.anyLease === true) {
      return (
        message.lease === undefined || message.lease === lease || message.lease.until <= model.now
      )
    }
    return model.isLatest(message, lease)
  }

  #apply(message: ModelMessage, outcome: Outcome): void {
    if (outcome.kind === 'deadLetter') this.#model.bury(message)
    if (outcome.kind === 'release') this.#model.handBack(message, 0, false)
    if (outcome.kind === 'retry') this.#model.handBack(message, outcome.delayMs, true)
  }

  #endOwn(message: ModelMessage, marked?: ModelUnit): void {
    this.#model.acknowledge(message, marked)
    if (message.queue === 'ends') {
      // A second one for the same flow would be a second end.
      assert.ok(!this.#ended.has(message.body), `${message.body}, twice`)
      this.#ended.add(message.body)
    }
  }

  async #mark(fault: string | undefined): Promise<void> {
    const unit = this.#anyUnit()
    if (unit === undefined) return
    const state = this.#chances.pick(['done', 'dead'] as const)
    const request = markOf(unit, state)
    const { isKept } = await this.#tried(`mark ${unit.id} ${state}`, fault, () =>
      this.#flows.mark(request),
    )
    if (isKept) this.#model.mark(unit, state)
  }

  async #startUnit(fault: string | undefined): Promise<void> {
    const unit = this.#anyUnit()
    if (unit === undefined) return
    const body = this.#newName(unit.id)
    const request = { ...keyOf(unit), work: { queue: 'work', message: { body } } }
    const { isKept } = await this.#tried(`start ${unit.id}`, fault, () =>
      this.#flows.start(request),
    )
    if (isKept) this.#model.start(unit, body)
  }

  async #cancel(fault: string | undefined): Promise<void> {
    const flow = this.#anyFlow(({ status }) => status === 'open')
    if (flow === undefined) return
    const request = { flow: name, id: flow.id }
    const { isKept } = await this.#tried(`cancel ${flow.id}`, fault, () =>
      this.#flows.cancel(request),
    )
    if (isKept) this.#model.cancel(flow)
  }

  async #resume(fault: string | undefined): Promise<void> {
    const unit = this.#anyUnit(({ state, flow }) => {
      const isResumable = flow.status === 'failed' || flow.status === 'open'
      return state === 'dead' && isResumable && !isBelowCancelled(flow)
    })
    if (unit === undefined) return
    const body = this.#newName(unit.id)
    const request = { ...keyOf(unit), work: { queue: 'work', message: { body } } }
    const { isKept } = await this.#tried(`resume ${unit.id}`, fault, () =>
      this.#flows.resume(request),
    )
    if (isKept) this.#model.resume(unit, body)
  }

  async #redrive(): Promise<void> {
    await this.#sweep(undefined)
    this.steps.push('redrive')
    await this.#arrange()
    await this.#backend.startMoveTask({ source: 'work-dead' })
    while ((await this.#backend.sweep()).more);
    this.#model.redrive()
  }

  async #purge(): Promise<void> {
    this.steps.push('purge')
    await this.#arrange()
    await this.#backend.purgeQueue({ queue: 'work' })
    this.#model.purge('work')
    await this.#sweep(undefined)
  }

  /** Cancelled flows look again after a few seconds for what somebody held. */
  async #sweep(fault: string | undefined): Promise<void> {
    await this.#advance(6_000)
    await this.#tried('sweep', fault, () => this.#backend.sweep())
    while ((await this.#backend.sweep()).more);
    this.#model.sweep()
  }

  /** What several processes send within a second has no order of its own: the model takes the store's. */
  async #arrange(): Promise<void> {
    const { engine } = this.#setup
    if (!engine.isShared) return
    const rows = await engine.rows<{ body: string }>('SELECT body FROM message ORDER BY sequence')
    this.#model.arrange(rows.map(({ body }) => body))
  }

  async #advance(ms: number): Promise<void> {
    this.steps.push(`advance ${ms}`)
    await this.#setup.engine.clock.advance(ms)
    this.#model.now += ms
  }

  /** A process that met its end in the call has opened the store again. */
  async #tried<T>(
    what: string,
    fault: string | undefined,
    call: () => Promise<T>,
  ): Promise<Tried<T>> {
    const { faults, engine } = this.#setup
    this.steps.push(fault === undefined ? what : `${what}, with the fault ${fault}`)
    const tried = await faults.during(fault, call)
    if (tried.hasFailed) await engine.reopen()
    return tried
  }

  async #compare(): Promise<void> {
    for (const flow of this.#model.flows.values()) {
      const record = await this.#flows.read({ flow: name, id: flow.id })
      const states = [...flow.units.values()].map(({ state }) => state)
      const count = (state: string): number => states.filter((one) => one === state).length
      assert.deepEqual(
        [record?.status, record?.isSealed, record?.spent, record?.units],
        [
          flow.status,
          flow.isSealed,
          flow.spent === 0 ? {} : { llm: flow.spent },
          {
            total: states.length,
            done: count('done'),
            dead: count('dead'),
            pending: count('pending'),
          },
        ],
        flow.id,
      )
      const { items } = await this.#flows.units({ flow: name, id: flow.id, limit: 1_000 })
      assert.deepEqual(
        items.map(({ unit, state, messageId }) => [unit, state, messageId !== null]),
        [...flow.units.values()].map(({ id, state, message }) => [
          id,
          state,
          state !== 'done' && message !== null,
        ]),
        flow.id,
      )
    }
    await this.#compareMessages()
  }

  async #compareMessages(): Promise<void> {
    const { engine } = this.#setup
    const found = await engine.rows<{ message: string }>(allMessages)
    const expected = [...this.#model.messages].map(({ queue, body }) => `${queue}: ${body}`)
    assert.deepEqual(found.map(({ message }) => message).sort(), expected.sort())
    for (const query of brokenFlows) assert.deepEqual(await engine.rows(query), [], query)
  }

  /** No more faults and nothing new: every flow reaches an end, and says so once. */
  async #heal(): Promise<void> {
    this.steps.push('heal')
    const model = this.#model
    const isOpen = ({ status }: ModelFlow): boolean => status === 'open'
    for (let round = 0; [...model.flows.values()].some(isOpen); round += 1) {
      assert.ok(round < 50, 'some flows do not come to an end')
      await this.#advance(leaseMs + 1)
      await this.#redrive()
      for (const flow of [...model.flows.values()].filter(isOpen)) {
        await this.#flows.seal({ flow: name, id: flow.id })
        model.seal(flow)
        for (const unit of flow.units.values()) {
          if (unit.state === 'done' || unit.message !== null) continue
          await this.#flows.mark(markOf(unit, 'done'))
          model.mark(unit, 'done')
        }
      }
      await this.#acknowledgeAll('work')
      await this.#acknowledgeAll('ends')
      await this.#compare()
    }
    await this.#sweep(undefined)
    for (const queue of queues) await this.#acknowledgeAll(queue)
    // The end of a flow that stood for a unit goes with the flow of that unit, if that is cancelled.
    const announced = [...model.flows.values()]
      .filter(({ status, hasFinalize }) => status === 'finalized' && hasFinalize)
      .map(({ id }) => `${id} is done`)
      .filter((end) => !model.takenBack.has(end))
    assert.deepEqual([...this.#ended].sort(), announced.sort())
    await this.#compare()
    await this.#forget()
  }

  /** Leaves a store behind in which the next run finds nothing of this one. */
  async #forget(): Promise<void> {
    await this.#advance(keepMs)
    while ((await this.#backend.sweep()).more);
    for (const table of ['flow', 'flow_text', 'flow_unit', 'unit_work', 'discarded_flow']) {
      assert.deepEqual(await this.#setup.engine.rows(`SELECT * FROM ${table}`), [], table)
    }
  }

  async #acknowledgeAll(queue: ModelQueue): Promise<void> {
    for (;;) {
      await this.#advance(leaseMs + 1)
      await this.#arrange()
      const taken = this.#model.receive(queue, 100)
      const deliveries = await this.#backend.receive({ queue, max: 100, waitMs: 0 })
      assert.equal(deliveries.length, taken.length)
      if (taken.length === 0) return
      const settlements = deliveries.map(({ receipt }) => ({
        receipt,
        outcome: { kind: 'acknowledge' as const },
      }))
      await this.#backend.settle({ queue, settlements })
      for (const { message } of taken) this.#endOwn(message)
    }
  }

  #newUnits(max: number): readonly NewModelUnit[] {
    const count = this.#chances.number(max + 1)
    return Array.from({ length: count }, () => {
      const id = this.#newName('unit')
      return { id, body: this.#chances.is(0.8) ? `work of ${id}` : undefined }
    })
  }

  #newName(kind: string): string {
    this.#names += 1
    return `${this.#setup.run} ${kind} ${this.#names}`
  }

  #anyFlow(isWanted: (flow: ModelFlow) => boolean = () => true): ModelFlow | undefined {
    return this.#chances.pick([...this.#model.flows.values()].filter(isWanted))
  }

  #anyUnit(isWanted: (unit: ModelUnit) => boolean = () => true): ModelUnit | undefined {
    const units = [...this.#model.flows.values()].flatMap((flow) => [...flow.units.values()])
    return this.#chances.pick(units.filter(isWanted))
  }
}

function keyOf({ id, flow }: ModelUnit): { flow: string; id: string; unit: string } {
  return { flow: name, id: flow.id, unit: id }
}

function markOf({ id, flow }: ModelUnit, state: 'done' | 'dead') {
  return { flow: name, id: flow.id, marks: [{ unit: id, state }] }
}

function workOf({ id, body }: NewModelUnit): NewUnit {
  return body === undefined ? { id } : { id, work: { queue: 'work', message: { body } } }
}

/** Such a flow ends with the one above, and is not resumed. */
function isBelowCancelled({ parent }: ModelFlow): boolean {
  return parent !== null && (parent.flow.status === 'cancelled' || isBelowCancelled(parent.flow))
}
