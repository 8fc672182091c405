/**
 * Takes messages out of a queue and gives each to somebody, one FIFO group in order: what was taken
 * well is acknowledged, anything else stays leased and comes back when its lease ends.
 */
import type { Backend, Delivery } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface ForwardOptions {
  readonly backend: Pick<Backend, 'receive' | 'settle' | 'readQueue'>
  readonly queue: string
  /** Answers whether the message was taken. */
  give(delivery: Delivery): Promise<boolean>
  readonly signal: AbortSignal
}

/** As many as one receive over the wire may have. */
const atOnce = 10

export async function forwardMessages(options: ForwardOptions): Promise<void> {
  const { backend, queue, signal } = options
  const { settings } = await backend.readQueue({ queue })
  const inOrder = settings.type === 'fifo'
  while (!signal.aborted) {
    const deliveries = await receive(options)
    const groups = Map.groupBy(deliveries, ({ group, id }) => (inOrder ? group : id))
    await Promise.all([...groups.values()].map((group) => giveInOrder(options, group)))
  }
}

/** Nothing when the caller has gone. */
async function receive({ backend, queue, signal }: ForwardOptions): Promise<readonly Delivery[]> {
  try {
    const waitMs = limits.receiveWaitMs.max
    return await backend.receive({ queue, max: atOnce, waitMs, signal })
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'aborted') return []
    throw error
  }
}

/** Behind a message that was not taken nothing of its group may go. */
async function giveInOrder(options: ForwardOptions, group: readonly Delivery[]): Promise<void> {
  const { backend, queue } = options
  for (const delivery of group) {
    if (!(await options.give(delivery))) return
    const outcome = { kind: 'acknowledge' } as const
    await backend.settle({ queue, settlements: [{ receipt: delivery.receipt, outcome }] })
  }
}
