/**
 * Turns what the backend leased into deliveries for a handler, and takes care of those whose body
 * does not match the contract: nothing disappears without somebody being told.
 */
import type { Delivery } from '../backends/backend.ts'
import { contractOf } from '../contracts/contract-of.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { LeaseDesk } from './lease-desk.ts'
import { type ReadMessage, readMessage } from './read-message.ts'
import { type TypedDelivery, typedDelivery } from './typed-delivery.ts'

/** A message that was received but not given to a handler. */
export interface RefusedDelivery {
  /** The queue's name on the backend. */
  readonly queue: string
  readonly id: string
  readonly receiveCount: number
  /** `buried`: it is in the dead-letter queue. `left`: it comes back when its lease lapses. */
  readonly fate: 'buried' | 'left'
  readonly error: MillraceError
}

export interface OpeningSetup {
  readonly desk: LeaseDesk
  readonly queue: string
  readonly declared: DeclaredQueue
  readonly onRefused: (refused: RefusedDelivery) => void
}

export async function openDeliveries(
  setup: OpeningSetup,
  deliveries: readonly Delivery[],
): Promise<readonly TypedDelivery<unknown>[]> {
  const { desk, queue, declared } = setup
  const contract = contractOf(declared)
  const opened: TypedDelivery<unknown>[] = []
  const heldGroups = new Set<string>()
  // One after the other: in a FIFO group the fate of one decides about those behind it.
  for (const delivery of deliveries) {
    const group = declared.type === 'fifo' ? delivery.group : null
    if (group !== null && heldGroups.has(group)) {
      await release(setup, delivery)
      continue
    }
    const read = await readMessage(contract, delivery.body)
    if (read.status === 'read') {
      opened.push(typedDelivery({ desk, queue, delivery, message: read.message }))
      continue
    }
    const refused = await refuse(setup, delivery, read)
    if (refused.fate === 'left' && group !== null) heldGroups.add(group)
    setup.onRefused(refused)
  }
  return opened
}

/** A message left at the head of its group comes again before those behind it. */
async function release({ desk, queue }: OpeningSetup, { receipt }: Delivery): Promise<void> {
  try {
    await desk.settle({ queue, receipt }, { kind: 'release' })
  } catch {
    // The lease lapses instead; a failing store must not cost the caller its other deliveries.
  }
}

async function refuse(
  { desk, queue }: OpeningSetup,
  { id, receiveCount, receipt }: Delivery,
  { status, error }: Exclude<ReadMessage, { readonly status: 'read' }>,
): Promise<RefusedDelivery> {
  const refused = { queue, id, receiveCount }
  if (status === 'unknown') return { ...refused, fate: 'left', error }
  try {
    const reason = `invalid_message: ${error.message}`.slice(0, limits.reasonLength.max)
    const { status } = await desk.settle({ queue, receipt }, { kind: 'bury', reason })
    return { ...refused, fate: status === 'settled' ? 'buried' : 'left', error }
  } catch (cause) {
    const expected = cause instanceof MillraceError && cause.code === 'dead_letter_missing'
    const { message, violations } = error
    return {
      ...refused,
      fate: 'left',
      error: expected
        ? error
        : new MillraceError('invalid_message', { message, violations, cause }),
    }
  }
}
