/** One flow of an open app: open it with any number of units, read its progress, end it. */
import type { Page } from '../backends/backend.ts'
import type {
  AddedUnits,
  FlowRecord,
  FlowStatus,
  FlowStore,
  OpenFlow,
  UnitRecord,
  UnitState,
} from '../backends/flow-store.ts'
import type { DeclaredFlowParts, DeclaredQueues } from '../contracts/define-app.ts'
import type { DeclaredFlow } from '../contracts/flow-declaration.ts'
import { checkOneOf, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { QueueAt, UntypedWork, Work } from '../jobs/emitter.ts'
import type { NamedFlow } from './flow-names.ts'
import type { RequestSetup } from './flow-requests.ts'
import type { OpenFlowOptions, UnitOf, UntypedOpening } from './flow-types.ts'
import { addUnits, type Opened, type OpeningSetup, openFlow } from './open-flow.ts'
import { refusedPart } from './refused-part.ts'

export interface ListFlowsOptions {
  readonly status?: FlowStatus
  /** Only open flows that are past their deadline. */
  readonly overdue?: boolean
  /** Flows per page, 1 to 1000. Default 10. */
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly after?: string
}

const addOptions: OptionNames<{ seal: boolean }> = { seal: true }
const unitsOptions: OptionNames<{ state: UnitState }> = { state: true }
export const listFlowsOptions: OptionNames<ListFlowsOptions> = {
  status: true,
  overdue: true,
  limit: true,
  after: true,
}

export interface FlowHandle<
  Queues extends DeclaredQueues = DeclaredQueues,
  Parts = DeclaredFlowParts,
  Flow = DeclaredFlow,
> {
  /** The flow's name in the store. */
  readonly name: string
  /**
   * Opens a flow with its units, 1,000 per commit, and seals it after the last one. If that was interrupted,
   * repeat the call to continue: flows and units are recognised by their ids.
   */
  open(id: string, options: OpenFlowOptions<Queues, Parts, Flow>): Promise<Opened>
  /** Adds units to a flow that is not sealed. Units that it has already are counted as duplicates. */
  add(
    id: string,
    units: Iterable<UnitOf<Queues, Flow>> | AsyncIterable<UnitOf<Queues, Flow>>,
    options?: { readonly seal?: boolean },
  ): Promise<AddedUnits>
  /** Declares that no units will be added. The flow ends when all its units have ended. */
  seal(id: string): Promise<FlowRecord>
  /** The progress of the flow. Undefined if the flow does not exist or was removed. */
  read(id: string): Promise<FlowRecord | undefined>
  /** Its units in the order in which they were added, read page by page. */
  units(id: string, options?: { readonly state?: UnitState }): AsyncIterable<UnitRecord>
  /** Units that are not done: first the pending ones, then the abandoned ones. */
  missing(id: string): AsyncIterable<UnitRecord>
  /** Marks units as done. For units without a message or job, or whose work was done elsewhere. */
  mark(id: string, unit: string | readonly string[]): Promise<FlowRecord>
  /** Abandons a unit. The reason is stored and shown, so it must not quote a message. */
  failUnit(id: string, unit: string, reason: string): Promise<FlowRecord>
  /** Ends an open flow. Removes the messages of its units that no receiver has leased. */
  cancel(id: string): Promise<FlowRecord>
  /**
   * Reopens a failed flow, or one that waits for an abandoned unit, and sends the unit's work again. Without
   * `work`, the flow sends its own copy, if it declares `keepWork`.
   */
  resume(id: string, unit: string, work?: FlowWork<Queues, Flow>): Promise<FlowRecord>
  /** Newest first. A page may be short or even empty and still have a `next`. */
  list(options?: ListFlowsOptions): Promise<Page<FlowRecord>>
}

/** The message or job of a unit. */
export type FlowWork<Queues extends DeclaredQueues, Flow> =
  Flow extends DeclaredFlow<infer Units, infer _Finalize, infer _Failed>
    ? Work<QueueAt<Queues, Units>>
    : never

export function createFlowHandle(setup: OpeningSetup, flow: NamedFlow): UntypedFlowHandle {
  const { store } = setup
  const { name } = flow
  const page = async function* (id: string, state?: UnitState): AsyncGenerator<UnitRecord> {
    if (state !== undefined) refuseOthers('state', state, unitStates)
    let after: string | undefined
    do {
      const { items, next } = await store().units({
        flow: name,
        id,
        limit: limits.pageSize.max,
        ...(state !== undefined && { state }),
        ...(after !== undefined && { after }),
      })
      yield* items
      after = next
    } while (after !== undefined)
  }
  return {
    name,
    open: (id, opening) => openFlow(setup, flow, id, opening),
    add: async (id, units, options = {}) => {
      refuseUnknownOptions(options, addOptions)
      return addUnits(setup, flow, id, { units, ...options })
    },
    seal: async (id) => store().seal({ flow: name, id }),
    read: async (id) => store().read({ flow: name, id }),
    units: (id, options = {}) => {
      refuseUnknownOptions(options, unitsOptions)
      return page(id, options.state)
    },
    missing: async function* (id) {
      yield* page(id, 'pending')
      yield* page(id, 'dead')
    },
    mark: async (id, unit) => {
      const units = typeof unit === 'string' ? [unit] : unit
      const marks = units.map((one) => ({ unit: one, state: 'done' as const }))
      return store().mark({ flow: name, id, marks })
    },
    failUnit: async (id, unit, reason) =>
      store().mark({ flow: name, id, marks: [{ unit, state: 'dead', reason }] }),
    cancel: async (id) => store().cancel({ flow: name, id }),
    resume: async (id, unit, work) => {
      const emitted = work && { work: await prepareOne(setup, flow, work) }
      return store().resume({ flow: name, id, unit, ...emitted })
    },
    list: async (options = {}) => {
      refuseUnknownOptions(options, listFlowsOptions)
      return listByName(store(), name, options)
    },
  }
}

const unitStates: readonly UnitState[] = ['pending', 'done', 'dead']
const flowStatuses: readonly FlowStatus[] = ['open', 'finalized', 'failed', 'cancelled']

/** An unknown state would return an empty list, which looks like good news. */
export function refuseOthers(field: string, value: unknown, choices: readonly string[]): void {
  const violations: Violations = []
  checkOneOf(violations, field, value, choices)
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

/** Lists flows of exactly this name. The store lists by prefix. */
export async function listByName(
  store: FlowStore,
  name: string,
  { limit = 10, ...filters }: ListFlowsOptions = {},
): Promise<Page<FlowRecord>> {
  if (filters.status !== undefined) refuseOthers('status', filters.status, flowStatuses)
  const page = await store.list({ ...filters, prefix: name, limit })
  return { ...page, items: page.items.filter(({ flow }) => flow === name) }
}

/** The same without the types of an app. */
export interface UntypedFlowHandle extends Omit<FlowHandle, 'open' | 'add' | 'resume'> {
  open(id: string, opening: UntypedOpening): Promise<Opened>
  add(
    id: string,
    units: UntypedOpening['units'],
    options?: { readonly seal?: boolean },
  ): Promise<AddedUnits>
  resume(id: string, unit: string, work?: UntypedWork): Promise<FlowRecord>
}

async function prepareOne(
  { emitter }: RequestSetup,
  { declared: { options } }: NamedFlow,
  work: UntypedWork,
): Promise<NonNullable<OpenFlow['finalize']>> {
  try {
    return await emitter.work(options.units, work)
  } catch (error) {
    throw refusedPart(error, 'work')
  }
}
