/** Items that are staged by key, and the end of a batch with the settlement of its trigger. */
import type { MillraceError } from '../../core/millrace-error.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { LeaseRefusal } from '../backend.ts'
import type { AddedItem, AddItems, EndBatch } from '../collector-store.ts'
import type { StoreTransaction } from './transaction.ts'

/** What keeps items from being staged, found before anything changes. */
export function refuseItems(_tx: StoreTransaction, _request: AddItems): MillraceError | undefined {
  return undefined
}

export function stageItems(_tx: StoreTransaction, _request: AddItems): readonly AddedItem[] {
  return []
}

/** Whether the batch is still the one that was begun with this receipt; undefined when it is. */
export function refuseBatch(
  _tx: StoreTransaction,
  _receipt: Receipt,
  _batch: EndBatch,
): LeaseRefusal | undefined {
  return undefined
}

/** Forgets what was merged, and sees to what was staged meanwhile. */
export function endBatch(_tx: StoreTransaction, _receipt: Receipt, _batch: EndBatch): void {}
