/**
 * Runs the records of a batch in the order that the queue guarantees. On a FIFO queue the records of one
 * group run one after the other, and stop at the first failure. On a standard queue all run.
 */
import type { SqsBatchRecord } from './sqs-batch.ts'

export interface BatchOrder {
  readonly records: readonly SqsBatchRecord[]
  readonly isFifo: boolean
  /** How many run at once. */
  readonly concurrency: number
  /** Resolves with whether the record is done. */
  readonly run: (record: SqsBatchRecord) => Promise<boolean>
  /** Called for a record that is not run, because one before it in its group failed. */
  readonly skip: (record: SqsBatchRecord) => Promise<void>
}

/** Resolves with the records that must be delivered again, in the order of the batch. */
export async function runBatch(order: BatchOrder): Promise<readonly SqsBatchRecord[]> {
  const { records, isFifo, concurrency } = order
  const failed = new Set<SqsBatchRecord>()
  const groups = isFifo ? groupsOf(records) : records.map((record) => [record])
  // The runners share one iterator, so each takes the next group that no other has taken.
  const waiting = groups.values()
  const runner = async (): Promise<void> => {
    for (const group of waiting) await runGroup(order, group, failed)
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, groups.length) }, runner))
  return records.filter((record) => failed.has(record))
}

async function runGroup(
  { run, skip }: BatchOrder,
  group: readonly SqsBatchRecord[],
  failed: Set<SqsBatchRecord>,
): Promise<void> {
  let isStopped = false
  for (const record of group) {
    if (isStopped) await skip(record)
    else isStopped = !(await run(record))
    if (isStopped) failed.add(record)
  }
}

function groupsOf(records: readonly SqsBatchRecord[]): readonly (readonly SqsBatchRecord[])[] {
  const groups = new Map<string | undefined, SqsBatchRecord[]>()
  for (const record of records) {
    const { MessageGroupId } = record.attributes
    const group = groups.get(MessageGroupId)
    if (group === undefined) groups.set(MessageGroupId, [record])
    else group.push(record)
  }
  return [...groups.values()]
}
