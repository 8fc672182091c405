/** What flows and chains make of the calls of a handler: parts of the settlement that ends its work. */
import type { EmittedFlow, EmittedStart, MarkUnits, UnitKey } from '../backends/flow-store.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type ChainSetup, chainRequest, successorOf } from './chain-steps.ts'
import { flowHead, newUnits } from './flow-requests.ts'
import type { EmitChainOptions, UnitFacts, UntypedOpening, UntypedUnit } from './flow-types.ts'
import { unitsOfOneCommit } from './unit-slices.ts'

export interface FlowEmits {
  nameUnit(unit: UnitKey): UnitFacts
  open(flow: string, id: string, opening: EmittedOpening): Promise<EmittedFlow>
  start(
    chain: string,
    id: string,
    payload: unknown,
    options: EmitChainOptions,
  ): Promise<EmittedFlow>
  mark(flow: string, id: string, unit: string): Promise<MarkUnits>
  /** The start of the step after the one that a delivery has done; undefined when there is none. */
  successor(done: DoneUnit): Promise<EmittedStart | undefined>
}

export interface EmittedOpening extends UntypedOpening {
  readonly units: Iterable<UntypedUnit>
}

/** A unit whose work is done, and what came of it. */
export interface DoneUnit {
  readonly unit: UnitKey
  /** JSON; undefined when the handler answered nothing. */
  readonly result: string | undefined
  /** The flow that stands for the unit from now on, if one does. */
  readonly takenOverBy: EmittedFlow | undefined
  /** Passed on to the step after it. */
  readonly facts: {
    readonly owner: string | null
    readonly tenant: string | null
    readonly traceId: string | null
  }
}

export function createFlowEmits(setup: ChainSetup): FlowEmits {
  const { names } = setup
  return {
    nameUnit: (unit) => names.factsOf(unit),
    open: async (key, id, { units, seal = true, takeOver = false, ...opening }) => {
      const flow = names.flow(key)
      return {
        ...(await flowHead(setup, flow, id, opening)),
        units: await newUnits(setup, flow, unitsOfOneCommit(units), 0),
        sealed: seal,
        ...(takeOver && { takesOver: true }),
      }
    },
    start: async (key, id, payload, { takeOver = false, ...options }) => ({
      ...(await chainRequest(setup, names.chain(key), id, payload, options)),
      ...(takeOver && { takesOver: true }),
    }),
    mark: async (key, id, unit) => ({
      flow: names.flow(key).name,
      id,
      marks: [{ unit, state: 'done' }],
    }),
    successor: async ({ unit, result, takenOverBy, facts }) => {
      if (takenOverBy !== undefined) {
        refuseStranding(setup, unit, takenOverBy)
        return undefined
      }
      const { owner, tenant, traceId } = facts
      const options = {
        ...(owner !== null && { owner }),
        ...(tenant !== null && { tenant }),
        ...(traceId !== null && { traceId }),
      }
      return successorOf(setup, { unit, result, options })
    },
  }
}

/**
 * When a flow stands for the step of a chain, the handler of its end answers what the next step is
 * given. Without such a handler nobody would start that step.
 */
function refuseStranding({ names }: ChainSetup, unit: UnitKey, { finalize }: EmittedFlow): void {
  if (finalize !== undefined || names.chainOf(unit) === undefined) return
  const allowed = 'a flow that declares finalize, where it stands for the step of a chain'
  throw MillraceError.invalid([{ field: 'takeOver', given: 'one without', allowed }])
}
