/**
 * What a settlement stores besides the end of a lease: messages and jobs, flows and marks of their
 * units, items for collectors, the end of a batch, rows of the caller's own. All of it is in the commit
 * of the settlement.
 */

import type { EmittedJob, SendResult, Settlement } from '../../backends/backend.ts'
import type { EnqueuedJob } from '../../backends/job-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Receipt } from '../../core/receipt.ts'
import { refuseSpendings } from '../budgets/budgets.ts'
import { endBatch } from '../collectors/batches.ts'
import { refuseItems, stageItems } from '../collectors/collecting.ts'
import { storeFlowParts } from '../flows/flow-parts.ts'
import { enqueueJob } from '../jobs/enqueueing.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { refuseEmitted } from './emitting.ts'
import { storeMessage } from './sending.ts'

/** Finds messages, jobs and items that their queues cannot take, and unknown budgets, before anything changes. */
export function* refuseParts(
  tx: Transaction,
  { emits, jobs, items, spent }: Settlement,
): Steps<MillraceError | undefined> {
  const unknown = spent && (yield* refuseSpendings(tx, spent))
  if (unknown !== undefined) return unknown
  for (const emit of emits ?? none) {
    const refusal = yield* refuseEmitted(tx, emit)
    if (refusal !== undefined) return refusal
  }
  for (const request of items ?? none) {
    const refusal = yield* refuseItems(tx, request)
    if (refusal !== undefined) return refusal
  }
  for (const job of jobs ?? none) {
    const refusal = yield* refuseEmitted(tx, job)
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
export function* storeParts(
  tx: Transaction,
  settlement: Settlement,
  settled: Settled,
): Steps<StoredParts> {
  try {
    return yield* storeInOrder(tx, settlement, settled)
  } catch (error) {
    throw error instanceof MillraceError ? new PartRefused(error) : error
  }
}

function* storeInOrder(
  tx: Transaction,
  settlement: Settlement,
  { receipt, unit }: Settled,
): Steps<StoredParts> {
  const { emits = none, jobs = none, items, batch, within } = settlement
  const emitted = yield* inTurn(emits, function* ({ queue, message }) {
    return yield* storeMessage(tx, yield* tx.queue(queue), message)
  })
  const enqueued = yield* inTurn(jobs, function* ({ queue, job }) {
    return yield* enqueueJob(tx, yield* tx.queue(queue), job)
  })
  if (items !== undefined) for (const request of items) yield* stageItems(tx, request)
  yield* storeFlowParts(tx, settlement, { unit, message: receipt.sequence })
  if (batch !== undefined) yield* endBatch(tx, receipt, batch)
  if (within !== undefined) yield* tx.runWithin(within)
  return { emitted, enqueued }
}
