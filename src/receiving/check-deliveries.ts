/**
 * Returns the deliveries whose body fits the contract. The others are dead-lettered at once. Without a
 * dead-letter queue they stay in the queue and are reported.
 */
import type { Delivery } from '../backends/backend.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { LeaseClient } from './lease-client.ts'
import { readDelivery } from './read-delivery.ts'
import type { ReadMessage } from './read-message.ts'

/** A message that was received but not passed to the caller. */
export interface RefusedDelivery {
  /** The queue's name on the backend. */
  readonly queue: string
  readonly id: string
  readonly receiveCount: number
  /** `dead_lettered`: it is in the dead-letter queue. `kept`: it is delivered again when its lease expires. */
  readonly fate: 'dead_lettered' | 'kept'
  readonly error: MillraceError
}

export interface CheckSetup {
  readonly client: LeaseClient
  readonly queue: string
  readonly declared: DeclaredQueue
  readonly onRefused: (refused: RefusedDelivery) => void
}

export interface CheckedDelivery {
  readonly delivery: Delivery
  /** The output of the contract's schema. */
  readonly message: unknown
}

export async function checkDeliveries(
  setup: CheckSetup,
  deliveries: readonly Delivery[],
): Promise<readonly CheckedDelivery[]> {
  const { declared } = setup
  const kept: CheckedDelivery[] = []
  const heldGroups = new Set<string>()
  // One after the other: in a FIFO group, the result for one message affects those behind it.
  for (const delivery of deliveries) {
    const group = declared.type === 'fifo' ? delivery.group : null
    if (group !== null && heldGroups.has(group)) {
      await release(setup, delivery)
      continue
    }
    const read = await readDelivery(declared, delivery)
    if (read.status === 'read') {
      kept.push({ delivery, message: read.message })
      continue
    }
    const refused = await refuse(setup, delivery, read)
    if (refused.fate === 'kept' && group !== null) heldGroups.add(group)
    setup.onRefused(refused)
  }
  return kept
}

/** Releases a message that must be delivered again before those behind it in its group. */
async function release({ client, queue }: CheckSetup, { receipt }: Delivery): Promise<void> {
  try {
    await client.settle({ queue, receipt }, { kind: 'release' })
  } catch {
    // The lease will expire instead. A failing store must not cost the caller its other deliveries.
  }
}

async function refuse(
  { client, queue }: CheckSetup,
  { id, receiveCount, receipt }: Delivery,
  { status, error }: Exclude<ReadMessage, { readonly status: 'read' }>,
): Promise<RefusedDelivery> {
  const refused = { queue, id, receiveCount }
  if (status === 'unknown') return { ...refused, fate: 'kept', error }
  try {
    const reason = `invalid_message: ${error.message}`.slice(0, limits.reasonLength.max)
    const { status } = await client.settle({ queue, receipt }, { kind: 'deadLetter', reason })
    return { ...refused, fate: status === 'settled' ? 'dead_lettered' : 'kept', error }
  } catch (cause) {
    const expected = cause instanceof MillraceError && cause.code === 'dead_letter_missing'
    const { message, violations } = error
    return {
      ...refused,
      fate: 'kept',
      error: expected
        ? error
        : new MillraceError('invalid_message', { message, violations, cause }),
    }
  }
}
