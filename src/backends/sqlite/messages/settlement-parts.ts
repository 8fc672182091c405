/**
 * What a settlement stores besides the end of a lease: messages and jobs, flows and marks of their
 * units, items for collectors, the end of a batch, rows of the caller's own. All of it is in the commit
 * of the settlement.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Receipt } from '../../../core/receipt.ts'
import type { EmittedJob, SendResult, Settlement } from '../../backend.ts'
import type { EnqueuedJob } from '../../job-store.ts'
import { refuseSpendings } from '../budgets/budgets.ts'
import { endBatch } from '../collectors/batches.ts'
import { refuseItems, stageItems } from '../collectors/collecting.ts'
import { runOnLentConnection } from '../driver/lent-connection.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { storeFlowParts } from '../flows/flow-parts.ts'
import { enqueueJob } from '../jobs/enqueueing.ts'
import { refuseEmitted } from './emitting.ts'
import { storeMessage } from './sending.ts'

/** Finds messages, jobs and items that their queues cannot take, and unknown budgets, before anything changes. */
export function refuseParts(
  tx: StoreTransaction,
  { emits, jobs, items, spent }: Settlement,
): MillraceError | undefined {
  const unknown = spent && refuseSpendings(tx, spent)
  if (unknown !== undefined) return unknown
  for (const emit of emits ?? none) {
    const refusal = refuseEmitted(tx, emit)
    if (refusal !== undefined) return refusal
  }
  for (const request of items ?? none) {
    const refusal = refuseItems(tx, request)
    if (refusal !== undefined) return refusal
  }
  for (const job of jobs ?? none) {
    const refusal = refuseEmitted(tx, job)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

const none: readonly never[] = []

/**
 * Whether storing a part can fail half-way, since it depends on other rows of the store: then the
 * settlement must be an operation by itself, so that the writer can undo it alone.
 */
export function mayFailHalfway({ jobs, flows, marks, starts, within }: Settlement): boolean {
  if (flows?.length || marks?.length || starts?.length || within !== undefined) return true
  return jobs?.some(hasKey) ?? false
}

function hasKey({ job }: EmittedJob): boolean {
  return job.idempotency !== undefined
}

/** A part could not be stored, and the settlement must be undone. */
export class PartRefused extends Error {
  readonly refusal: MillraceError

  constructor(refusal: MillraceError) {
    super(refusal.message)
    this.refusal = refusal
  }
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

/** Stores what a handler sends before what its end brings about. Throws `PartRefused`. */
export function storeParts(
  tx: StoreTransaction,
  settlement: Settlement,
  settled: Settled,
): StoredParts {
  try {
    return storeInOrder(tx, settlement, settled)
  } catch (error) {
    throw error instanceof MillraceError ? new PartRefused(error) : error
  }
}

function storeInOrder(
  tx: StoreTransaction,
  settlement: Settlement,
  { receipt, unit }: Settled,
): StoredParts {
  const { emits = none, jobs = none, items, batch, within } = settlement
  const emitted = emits.map(({ queue, message }) => storeMessage(tx, tx.queue(queue), message))
  const enqueued = jobs.map(({ queue, job }) => enqueueJob(tx, tx.queue(queue), job))
  if (items !== undefined) for (const request of items) stageItems(tx, request)
  storeFlowParts(tx, settlement, { unit, message: receipt.sequence })
  if (batch !== undefined) endBatch(tx, receipt, batch)
  if (within !== undefined) runOnLentConnection(tx, within)
  return { emitted, enqueued }
}
