/** Turns the calls of a handler about flows and chains into parts of the settlement that completes it. */
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
  /** Starts the step after the completed one; undefined if there is none. */
  successor(done: DoneUnit): Promise<EmittedStart | undefined>
}

export interface EmittedOpening extends UntypedOpening {
  readonly units: Iterable<UntypedUnit>
}

/** A unit whose work is done, with its result. */
export interface DoneUnit {
  readonly unit: UnitKey
  /** JSON; undefined if the handler returned nothing. */
  readonly result: string | undefined
  /** The flow that takes the unit over, if the handler opened one with `takeOver`. */
  readonly takenOverBy: EmittedFlow | undefined
  /** Passed on to the next step. */
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
        requireFinalize(setup, unit, takenOverBy)
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
 * The next step of a chain gets the result of the `finalize` handler of the flow that took over. Without such
 * a handler the next step would never start.
 */
function requireFinalize({ names }: ChainSetup, unit: UnitKey, { finalize }: EmittedFlow): void {
  if (finalize !== undefined || names.chainOf(unit) === undefined) return
  const allowed = 'a flow that declares finalize, because it takes over a step of a chain'
  throw MillraceError.invalid([{ field: 'takeOver', given: 'a flow without finalize', allowed }])
}
