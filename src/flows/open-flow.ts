/**
 * Opens a flow with any number of units, slice by slice. Flows and units are recognised by their ids, so
 * repeating the call continues an interrupted opening.
 */
import type { AddedUnits, FlowRecord, FlowStore, OpenFlow } from '../backends/flow-store.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { NamedFlow } from './flow-names.ts'
import { flowHead, newUnits, type RequestSetup } from './flow-requests.ts'
import type { UntypedOpening } from './flow-types.ts'
import { unitSlices } from './unit-slices.ts'

export interface Opened {
  /** `duplicate`: a flow with this id existed already. Units that it lacked were added. */
  readonly status: 'created' | 'duplicate'
  /** How many units this call has added. */
  readonly added: number
  readonly flow: FlowRecord
}

export interface OpeningSetup extends RequestSetup {
  readonly store: () => FlowStore
}

export async function openFlow(
  setup: OpeningSetup,
  flow: NamedFlow,
  id: string,
  { units, seal = true, ...opening }: UntypedOpening,
): Promise<Opened> {
  const store = setup.store()
  const head = await flowHead(setup, flow, id, opening)
  let opened: Opened | undefined
  for await (const slice of unitSlices(units)) {
    const request: OpenFlow = {
      ...head,
      units: await newUnits(setup, flow, slice.units, slice.from),
      sealed: slice.isLast && seal,
    }
    if (opened === undefined) {
      const { status, flow: record } = await store.open(request)
      const isNew = status === 'created'
      opened = { status, added: isNew ? record.units.total : 0, flow: record }
      if (isNew) continue
    }
    if (!mayLackUnits(opened.flow)) break
    opened = await addSlice(store, request, opened)
  }
  // There is always a first slice.
  if (opened === undefined) throw new MillraceError('store_failed')
  return opened
}

/** Whether units may still be missing, because an opening was interrupted or is under way. */
function mayLackUnits({ status, isSealed }: FlowRecord): boolean {
  return status === 'open' && !isSealed
}

/** Adds one more slice, unless another process that opens the same flow has just finished it. */
async function addSlice(store: FlowStore, request: OpenFlow, opened: Opened): Promise<Opened> {
  const { flow, id, units, sealed } = request
  try {
    const { added, flow: record } =
      units.length === 0 && sealed
        ? { added: 0, flow: await store.seal({ flow, id }) }
        : await store.add({ flow, id, units, ...(sealed && { seal: true }) })
    return { ...opened, added: opened.added + added, flow: record }
  } catch (error) {
    const isDone =
      error instanceof MillraceError &&
      (error.code === 'flow_sealed' || error.code === 'flow_finished')
    const record = isDone ? await store.read({ flow, id }) : undefined
    if (record === undefined) throw error
    return { ...opened, flow: record }
  }
}

export async function addUnits(
  setup: OpeningSetup,
  flow: NamedFlow,
  id: string,
  { units, seal = false }: Pick<UntypedOpening, 'units' | 'seal'>,
): Promise<AddedUnits> {
  const store = setup.store()
  const key = { flow: flow.name, id }
  let total: AddedUnits | undefined
  for await (const slice of unitSlices(units)) {
    const some = await newUnits(setup, flow, slice.units, slice.from)
    if (some.length === 0) break
    const sealing = slice.isLast && seal && { seal: true }
    const added = await store.add({ ...key, units: some, ...sealing })
    total = {
      added: (total?.added ?? 0) + added.added,
      duplicates: (total?.duplicates ?? 0) + added.duplicates,
      flow: added.flow,
    }
  }
  if (total !== undefined) return total
  const record = seal ? await store.seal(key) : await store.read(key)
  if (record === undefined) throw new MillraceError('flow_not_found')
  return { added: 0, duplicates: 0, flow: record }
}
