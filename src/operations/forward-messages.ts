/**
 * Receives messages and passes each to a function, in order within a FIFO group. If the function accepts a
 * message, the message is acknowledged. Otherwise it is delivered again when its lease ends.
 */
import type { Backend, Delivery } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface ForwardOptions {
  readonly backend: Pick<Backend, 'receive' | 'settle' | 'readQueue'>
  readonly queue: string
  /** Resolves with whether the message was accepted. */
  give(delivery: Delivery): Promise<boolean>
  readonly signal: AbortSignal
}

/** The same as the limit of one SQS receive. */
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

/** Returns an empty list after an abort. */
async function receive({ backend, queue, signal }: ForwardOptions): Promise<readonly Delivery[]> {
  try {
    const waitMs = limits.receiveWaitMs.max
    return await backend.receive({ queue, max: atOnce, waitMs, signal })
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'aborted') return []
    throw error
  }
}

/** Stops at the first message that is not accepted, to keep the order of the group. */
async function giveInOrder(options: ForwardOptions, group: readonly Delivery[]): Promise<void> {
  const { backend, queue } = options
  for (const delivery of group) {
    if (!(await options.give(delivery))) return
    const outcome = { kind: 'acknowledge' } as const
    await backend.settle({ queue, settlements: [{ receipt: delivery.receipt, outcome }] })
  }
}
