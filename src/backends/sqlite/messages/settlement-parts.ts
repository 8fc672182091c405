/**
 * What a settlement brings with it besides the end of a lease: messages and jobs, flows and marks of
 * their units, items for collectors, the end of a batch, rows of the caller's own. It is checked before
 * anything changes, and comes to exist after the lease has ended, in the same commit.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Receipt } from '../../../core/receipt.ts'
import type { EmittedJob, EmittedMessage, SendResult, Settlement } from '../../backend.ts'
import type { EnqueuedJob } from '../../job-store.ts'
import { endBatch, refuseItems, stageItems } from '../collectors/batches.ts'
import { runOnLentConnection } from '../driver/lent-connection.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { refuseFlowParts, storeFlowParts } from '../flows/flow-parts.ts'
import { enqueueJob, refuseEmittedJobs } from '../jobs/enqueueing.ts'
import type { MessageRow } from './message-rows.ts'
import { refuse, storeMessage } from './sending.ts'

/** Whatever would keep the parts from being stored one after the other. */
export function refuseParts(
  tx: StoreTransaction,
  settlement: Settlement,
  findMessage: () => MessageRow | undefined,
): MillraceError | undefined {
  const { emits, jobs, items } = settlement
  for (const emit of emits ?? []) {
    const refusal = refuseEmit(tx, emit)
    if (refusal !== undefined) return refusal
  }
  for (const request of items ?? []) {
    const refusal = refuseItems(tx, request)
    if (refusal !== undefined) return refusal
  }
  const refusal = jobs === undefined ? undefined : refuseEmittedJobs(tx, jobs)
  return refusal ?? refuseFlowParts(tx, settlement, findMessage)
}

function refuseEmit(
  tx: StoreTransaction,
  { queue, message }: EmittedMessage,
): MillraceError | undefined {
  const target = tx.session.queues.find(queue)
  return target === undefined ? new MillraceError('queue_not_found') : refuse(target, message)
}

export interface StoredParts {
  readonly emitted: readonly SendResult[]
  readonly enqueued: readonly EnqueuedJob[]
}

/** The lease that has ended. */
export interface Settled {
  readonly receipt: Receipt
  /** The unit of a flow whose message was acknowledged. */
  readonly unit: number | null
}

/** Stores what was not refused: what a handler sends comes before what its end brings about. */
export function storeParts(
  tx: StoreTransaction,
  settlement: Settlement,
  { receipt, unit }: Settled,
): StoredParts {
  const { emits = [], jobs = [], items, batch, within } = settlement
  const stored = { emitted: emit(tx, emits), enqueued: enqueue(tx, jobs) }
  if (items !== undefined) for (const request of items) stageItems(tx, request)
  storeFlowParts(tx, settlement, { unit, message: receipt.sequence })
  if (batch !== undefined) endBatch(tx, receipt, batch)
  if (within !== undefined) runOnLentConnection(tx, within)
  return stored
}

function emit(tx: StoreTransaction, emits: readonly EmittedMessage[]): readonly SendResult[] {
  return emits.map(({ queue, message }) => storeMessage(tx, tx.queue(queue), message))
}

function enqueue(tx: StoreTransaction, jobs: readonly EmittedJob[]): readonly EnqueuedJob[] {
  return jobs.map(({ queue, job }) => enqueueJob(tx, tx.queue(queue), job))
}
