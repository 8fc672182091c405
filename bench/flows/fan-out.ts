/** The load of the flows benchmark: fan-out into a queue, and marks by acknowledgement. */
import type { Backend, Delivery } from '../../src/backends/backend.ts'
import type { FlowStore, NewUnit } from '../../src/backends/flow-store.ts'
import { body } from '../load.ts'

export const flowName = 'bench'

/** Units per call. */
export const unitsPerCall = 1_000

export function flowsOf({ flows }: Backend): FlowStore {
  if (flows === null) throw new Error('The store keeps no flows.')
  return flows
}

/** Opens a flow and adds its units, one call after the other. Resolves to the milliseconds. */
export async function fanOut(
  backend: Backend,
  queue: string,
  id: string,
  units: number,
): Promise<number> {
  const flows = flowsOf(backend)
  const startedMs = performance.now()
  await flows.open({
    flow: flowName,
    id,
    units: [],
    sealed: false,
    onUnitFailure: 'wait',
    keepMs: 86_400_000,
  })
  for (let first = 0; first < units; first += unitsPerCall) {
    const count = Math.min(unitsPerCall, units - first)
    const some = Array.from({ length: count }, (_, index) => unitOf(queue, first + index))
    await flows.add({ flow: flowName, id, units: some, seal: first + count >= units })
  }
  return performance.now() - startedMs
}

function unitOf(queue: string, number: number): NewUnit {
  return { id: `unit-${number}`, work: { queue, message: { body } } }
}

/** Acknowledges the deliveries in one call. Resolves to the milliseconds per mark. */
export async function markAll(
  backend: Backend,
  queue: string,
  deliveries: readonly Delivery[],
): Promise<number> {
  const settlements = deliveries.map(({ receipt }) => ({
    receipt,
    outcome: { kind: 'acknowledge' as const },
  }))
  const startedMs = performance.now()
  await backend.settle({ queue, settlements })
  return (performance.now() - startedMs) / deliveries.length
}
