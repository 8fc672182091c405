/** Runs the batches of a function: which records run, in which order, and which are reported as failed. */
import type { App } from '../contracts/define-app.ts'
import type { Ports } from '../core/ports.ts'
import { AbortReason } from '../worker/abort-reason.ts'
import { runBatch } from './batch-order.ts'
import { watchTime } from './batch-time.ts'
import { directRunner } from './direct-runner.ts'
import type { FailedRecord } from './failed-record.ts'
import type { FunctionStore, HandlersByType } from './function-types.ts'
import { heldBy } from './held-records.ts'
import { type FunctionQueue, functionQueue, type RecordRunner } from './record-runner.ts'
import type { LambdaContext, SqsBatch, SqsBatchFailures, SqsBatchRecord } from './sqs-batch.ts'

export interface FunctionSetup {
  readonly app: App
  /** The key of the queue. */
  readonly key: string
  readonly handlers: HandlersByType
  readonly store: true | FunctionStore | undefined
  readonly concurrency: number
  readonly stopBeforeMs: number
  readonly ports: Pick<Ports, 'timers'>
  /** Default: prints each failure. */
  readonly onFailure: ((failure: FailedRecord) => void) | undefined
}

export function functionBatches(
  setup: FunctionSetup,
): (event: SqsBatch, lambda: LambdaContext) => Promise<SqsBatchFailures> {
  const { app, key, handlers, store, concurrency, stopBeforeMs, ports, onFailure } = setup
  const queue = functionQueue(app, key, onFailure)
  const runner = once(() => openRunner(queue, handlers, store))

  return async ({ Records }, lambda) => {
    const held = Records.filter((record) => isHeld(queue, record))
    const records = Records.filter((record) => !held.includes(record))
    if (records.length === 0) return failuresOf(held)
    const batch = await (await runner()).begin(records, lambda)
    const time = watchTime({ timers: ports.timers, lambda, stopBeforeMs, batch })
    const failed = await runBatch({
      records,
      isFifo: queue.declared.type === 'fifo',
      concurrency,
      run: async (record) => {
        if (!time.isOver) return batch.run(record)
        queue.report(record, { why: 'timeout', error: new AbortReason('timeout') })
        await batch.skip(record)
        return false
      },
      skip: (record) => batch.skip(record),
    }).finally(() => time.end())
    return failuresOf([...held, ...failed])
  }
}

function failuresOf(records: readonly SqsBatchRecord[]): SqsBatchFailures {
  return { batchItemFailures: records.map(({ messageId }) => ({ itemIdentifier: messageId })) }
}

function isHeld(queue: FunctionQueue, record: SqsBatchRecord): boolean {
  const name = heldBy(queue, record)
  if (name === undefined) return false
  queue.report(record, { why: 'held', error: `The kill switch ${name} is on.` })
  return true
}

async function openRunner(
  queue: FunctionQueue,
  handlers: HandlersByType,
  store: true | FunctionStore | undefined,
): Promise<RecordRunner> {
  if (store === undefined) return directRunner(queue, handlers)
  const { storeRunner } = await import('./store-runner.ts')
  return storeRunner(queue, handlers, store === true ? {} : store)
}

/** Calls it once. After a failure, the next call tries again. */
function once<Value>(open: () => Promise<Value>): () => Promise<Value> {
  let opened: Promise<Value> | undefined
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
}
