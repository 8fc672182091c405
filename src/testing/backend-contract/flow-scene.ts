/** What the contract tests about flows have in common: a queue of work, and one of end messages. */
import assert from 'node:assert/strict'
import type {
  Delivery,
  Emitted,
  Outcome,
  Settlement,
  SettleResult,
} from '../../backends/backend.ts'
import type {
  FlowRecord,
  FlowStore,
  NewUnit,
  OpenedFlow,
  OpenFlow,
  UnitRecord,
} from '../../backends/flow-store.ts'
import { day, only, type Scene } from './scene.ts'

/** The flow that tests open when they do not say otherwise. */
export const pages = { flow: 'app-dev-pages', id: 'book' } as const

export const acknowledge: Outcome = { kind: 'acknowledge' }

export function flowsOf({ backend }: Scene): FlowStore {
  assert.ok(backend.flows !== null)
  return backend.flows
}

/** The queues `work` (with dead letters after two receives), `ends` and `failures`. */
export async function createFlowQueues(scene: Scene): Promise<void> {
  await scene.queueWithDeadLetters('work', 2)
  await scene.queue('ends')
  await scene.queue('failures')
}

export function messageTo(queue: string, body: string): Emitted {
  return { queue, message: { body } }
}

export function unitsOf(...ids: readonly string[]): readonly NewUnit[] {
  return ids.map((id) => ({ id, work: messageTo('work', id) }))
}

/** A sealed flow that says `book is done` in `ends`, or `book has failed` in `failures`. */
export function opening(units: readonly NewUnit[], changes: Partial<OpenFlow> = {}): OpenFlow {
  const { id = pages.id } = changes
  return {
    ...pages,
    units,
    sealed: true,
    onUnitFailure: 'wait',
    finalize: messageTo('ends', `${id} is done`),
    failed: messageTo('failures', `${id} has failed`),
    keepMs: 30 * day,
    ...changes,
  }
}

export async function openFlow(
  scene: Scene,
  units: readonly NewUnit[],
  changes: Partial<OpenFlow> = {},
): Promise<OpenedFlow> {
  return flowsOf(scene).open(opening(units, changes))
}

export async function readFlow(scene: Scene, id: string = pages.id): Promise<FlowRecord> {
  const record = await flowsOf(scene).read({ ...pages, id })
  assert.ok(record !== undefined, 'the flow is not there')
  return record
}

export async function readUnits(
  scene: Scene,
  id: string = pages.id,
): Promise<readonly UnitRecord[]> {
  return (await flowsOf(scene).units({ ...pages, id, limit: 1_000 })).items
}

export async function unitStates(scene: Scene, id: string = pages.id): Promise<unknown> {
  return Object.fromEntries((await readUnits(scene, id)).map(({ unit, state }) => [unit, state]))
}

/** What the queues of ends say. */
export async function endMessages(scene: Scene): Promise<readonly string[]> {
  const ends = await scene.peekBodies('ends', 'ready')
  return [...ends, ...(await scene.peekBodies('failures', 'ready'))]
}

/** Receives the next message of a queue, which has to be there, and settles it. */
export async function settleNext(
  scene: Scene,
  outcome: Outcome = acknowledge,
  { queue = 'work', ...more }: { readonly queue?: string } & Partial<Settlement> = {},
): Promise<SettleResult> {
  const { receipt } = await scene.receiveOne(queue)
  return settleWith(scene, receipt, { queue, outcome, ...more })
}

export async function settleWith(
  scene: Scene,
  receipt: string,
  { queue = 'work', ...more }: { readonly queue?: string } & Partial<Settlement> = {},
): Promise<SettleResult> {
  const settlement: Settlement = { outcome: acknowledge, ...more, receipt }
  return only(await scene.backend.settle({ queue, settlements: [settlement] }))
}

/** Receives everything that is ready, by body. */
export async function receiveAll(
  scene: Scene,
  queue = 'work',
): Promise<ReadonlyMap<string, Delivery>> {
  const deliveries = await scene.receive(queue, { max: 100 })
  return new Map(deliveries.map((delivery) => [delivery.body, delivery]))
}
