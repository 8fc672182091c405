/** One claim of a worker for one of its queues. */
import type { Backend, Receive } from '../backends/backend.ts'
import type { Source } from './source.ts'

/** One call that claims deliveries, and when it was made. */
export interface Claim {
  readonly claimedMs: number
  /** Whether the delivery has to wait for a slot. */
  readonly isWaiting: boolean
}

/** How many deliveries to claim from a queue. */
export interface Wanted {
  /** Free slots that they may use. */
  slots: number
  /** Deliveries ahead of the free slots. */
  ahead: number
  /** As many as slots, or more if they are run in batches. */
  max: number
}

export async function receiveFor(
  backend: Pick<Backend, 'receive'>,
  source: Source,
  { max, ahead }: Wanted,
  { onLeased, heldNames }: Required<Pick<Receive, 'onLeased' | 'heldNames'>>,
): Promise<void> {
  const request = {
    queue: source.setup.name,
    waitMs: 0,
    onLeased,
    ...(heldNames.length > 0 && { heldNames }),
  }
  if (!source.isFifo || source.hasBatches) {
    await backend.receive({ ...request, max, ...(ahead > 0 && { prefetch: ahead }) })
    return
  }
  // One receive may return several messages of a group, which must not run at the same time. A group with a
  // leased message is closed to the next receive, even in the same transaction.
  const singles = Array.from({ length: max }, () => backend.receive({ ...request, max: 1 }))
  const settled = await Promise.allSettled(singles)
  const failed = settled.find((one) => one.status === 'rejected')
  const hasReceived = settled.some((one) => one.status === 'fulfilled' && one.value.length > 0)
  if (failed !== undefined && !hasReceived) throw failed.reason
}
