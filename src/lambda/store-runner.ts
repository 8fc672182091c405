/**
 * Runs the records of a store that the function can reach. The function settles each message itself, by the
 * receipt in its record, as a worker does: all that a handler emits, the marks of units, the result of a job
 * and the end of the message are one commit. The event source then finds that the message is gone.
 */
import type { Delivery } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { slicesOf } from '../core/slices-of.ts'
import { AbortReason } from '../worker/abort-reason.ts'
import type { Claimed } from '../worker/claims-ahead.ts'
import type { WorkerEvent } from '../worker/worker-event.ts'
import type { FunctionStore, HandlersByType } from './function-types.ts'
import { type OpenStore, openStore, type RunningRecord } from './open-store.ts'
import type { FunctionQueue, RecordRunner, RunningBatch } from './record-runner.ts'
import { type LambdaContext, queueNameIn, type SqsBatchRecord } from './sqs-batch.ts'

export async function storeRunner(
  queue: FunctionQueue,
  handlers: HandlersByType,
  options: FunctionStore,
): Promise<RecordRunner> {
  const store = await openStore(queue, handlers, options)
  return {
    async begin(records, lambda) {
      const batch = new StoreBatch(store, lambda)
      await batch.claim(records)
      return batch
    },
  }
}

class StoreBatch implements RunningBatch {
  readonly #store: OpenStore
  readonly #lambda: LambdaContext
  readonly #claimed = new Map<SqsBatchRecord, Claimed>()

  constructor(store: OpenStore, lambda: LambdaContext) {
    this.#store = store
    this.#lambda = lambda
  }

  /** Takes over the leases of the records, so that they are kept while handlers run. */
  async claim(records: readonly SqsBatchRecord[]): Promise<void> {
    const { backend, ports, source, runner } = this.#store
    const { name: queue, visibilityMs } = source.setup
    refuseOtherQueues(records, queue)
    for (const some of slicesOf(records, limits.messagesPerCall.max)) {
      if (some.length === 0) continue
      const claimedMs = ports.clock.monotonic()
      const receipts = some.map(({ receiptHandle }) => receiptHandle)
      await backend.extend({
        queue,
        leases: receipts.map((receipt) => ({ receipt, visibilityMs })),
      })
      const deliveries = await backend.readLeases({ queue, receipts })
      for (const [index, record] of some.entries()) {
        const delivery: Delivery | null = deliveries[index] ?? null
        if (delivery === null) continue
        const lease = runner.hold(source, delivery, { claimedMs, isWaiting: false })
        this.#claimed.set(record, { source, delivery, lease })
      }
    }
  }

  stop(): void {
    this.#store.runner.abort('timeout')
  }

  abandon(): void {
    this.#store.runner.abandonHandlers()
  }

  async run(record: SqsBatchRecord): Promise<boolean> {
    const { queue, runner, events, running } = this.#store
    const claimed = this.#take(record)
    if (claimed === undefined) {
      // Another receiver has it, or it is done.
      queue.report(record, { why: 'lost', error: new AbortReason('lease_lost') })
      return false
    }
    const { receipt, id } = claimed.delivery
    const own: RunningRecord = { record, lambda: this.#lambda }
    running.set(receipt, own)
    await runner.run(claimed, () => undefined)
    running.delete(receipt)
    const event = events.get(id)
    events.delete(id)
    return this.#judge(own, event)
  }

  /** A record that is not run is released, so that its receive does not count. */
  async skip(record: SqsBatchRecord): Promise<void> {
    const claimed = this.#take(record)
    if (claimed !== undefined) await this.#store.runner.release(claimed)
  }

  #take(record: SqsBatchRecord): Claimed | undefined {
    const claimed = this.#claimed.get(record)
    this.#claimed.delete(record)
    return claimed
  }

  /** Whether the message is gone: done, failed for good, or cancelled. */
  #judge({ record, message, error }: RunningRecord, event: WorkerEvent | undefined): boolean {
    const { report } = this.#store.queue
    const thrown = error ?? event?.error
    switch (event?.event) {
      case 'completed':
      case 'cancelled':
        return true
      case 'released':
        return false
      case 'refused':
        report(record, { why: 'unreadable', error: thrown })
        return true
      case 'failed':
      case 'retried':
        report(record, { why: 'threw', error: thrown }, message)
        return event.event === 'failed'
      default:
        report(record, { why: 'lost', error: thrown ?? new AbortReason('lease_lost') }, message)
        return false
    }
  }
}

/** The names of the other queues would be wrong too, so nothing is run. */
function refuseOtherQueues(records: readonly SqsBatchRecord[], name: string): void {
  const other = records.map(queueNameIn).find((one) => one !== name)
  if (other === undefined) return
  throw new MillraceError('queue_not_found', {
    message:
      `The batch comes from the queue '${other.slice(0, 80)}', but the queue of the app is named '${name}' ` +
      'in the store. Set MILLRACE_STAGE, or pass store: { stage }.',
  })
}
