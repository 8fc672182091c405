/** Turns the options of an opening into a request to the store, and checks every message and job. */
import type { NewUnit, OpenFlow } from '../backends/flow-store.ts'
import { defaultFlowKeep } from '../contracts/flow-declaration.ts'
import { durationMs } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { Emitter, UntypedWork } from '../jobs/emitter.ts'
import { allOrThrow } from '../producer/all-or-throw.ts'
import type { FlowNames, NamedFlow } from './flow-names.ts'
import type { UntypedOpening, UntypedUnit } from './flow-types.ts'
import { refusedPart } from './refused-part.ts'
import { checkedUnit } from './unit-slices.ts'

export interface RequestSetup {
  readonly names: FlowNames
  readonly emitter: Emitter
}

export type FlowHead = Omit<OpenFlow, 'units' | 'sealed'>

/** Everything about a flow except its units. */
export async function flowHead(
  { names, emitter }: RequestSetup,
  { key, name, declared: { options } }: NamedFlow,
  id: string,
  opening: Omit<UntypedOpening, 'units'>,
): Promise<FlowHead> {
  refuseUnknownOptions(opening, openingOptions)
  const { finalize, failed, parent } = opening
  const end = async (
    field: 'finalize' | 'failed',
    work: UntypedWork | undefined,
  ): Promise<Pick<OpenFlow, 'finalize' | 'failed'>> => {
    const queue = options[field]
    if (queue === undefined) {
      if (work === undefined) return {}
      const allowed = `none: the flow '${key}' does not declare ${field}`
      throw MillraceError.invalid([{ field, given: 'work', allowed }])
    }
    return { [field]: await placed(field, () => emitter.work(queue, work ?? {})) }
  }
  const { onUnitFailure = 'wait', deadline, onDeadline, keepWork, keep } = options
  return {
    flow: name,
    id,
    onUnitFailure,
    ...(await end('finalize', finalize)),
    ...(await end('failed', failed)),
    ...(deadline !== undefined && { deadlineMs: durationMs(deadline) }),
    ...(onDeadline !== undefined && { onDeadline }),
    ...(parent !== undefined && { parent: names.unitOf(parent) }),
    ...(keepWork !== undefined && { keepsWork: keepWork }),
    keepMs: durationMs(keep ?? defaultFlowKeep),
  }
}

/** Includes options that the caller has removed already, for the text of the error. */
const openingOptions: OptionNames<Omit<UntypedOpening, 'takeOver'>> = {
  units: true,
  seal: true,
  finalize: true,
  failed: true,
  parent: true,
}

/** Units with their messages or jobs. `from` is the index of the first one among all units. */
export async function newUnits(
  { emitter }: RequestSetup,
  { declared: { options } }: NamedFlow,
  units: readonly UntypedUnit[],
  from: number,
): Promise<readonly NewUnit[]> {
  const prepared = units.map((unit, index) =>
    placed(`units[${from + index}]`, async (): Promise<NewUnit> => {
      const { id, hasWork } = checkedUnit(unit)
      return hasWork ? { id, work: await emitter.work(options.units, unit) } : { id }
    }),
  )
  return allOrThrow(await Promise.allSettled(prepared))
}

async function placed<T>(place: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw refusedPart(error, place)
  }
}
