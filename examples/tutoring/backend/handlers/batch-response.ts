/**
 * Handles the records of a batch and returns those that failed. Failed records are retried; the others are
 * done. Logs contain the message id and the reason, never the body.
 */
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'

export type RecordHandler = (record: SQSRecord) => Promise<void>

/** All at once, because a standard queue has no order. */
export async function eachRecord(
  { Records }: SQSEvent,
  handle: RecordHandler,
): Promise<SQSBatchResponse> {
  const fates = await Promise.all(Records.map((record) => fateOf(record, handle)))
  return failuresOf(Records.filter((_, index) => !fates[index]))
}

/** One after the other. After a failure, later records of the same group must wait. */
export async function inOrder(
  { Records }: SQSEvent,
  handle: RecordHandler,
): Promise<SQSBatchResponse> {
  const failed: SQSRecord[] = []
  const stopped = new Set<string | undefined>()
  for (const record of Records) {
    const group = record.attributes.MessageGroupId
    if (!stopped.has(group) && (await fateOf(record, handle))) continue
    stopped.add(group)
    failed.push(record)
  }
  return failuresOf(failed)
}

/** While a kill switch is on, all records fail. After enough receives they are dead letters. */
export function refuseAll({ Records }: SQSEvent, name: string): SQSBatchResponse {
  console.warn(`${name} is on: ${Records.length} messages are not processed`)
  return failuresOf(Records)
}

async function fateOf(record: SQSRecord, handle: RecordHandler): Promise<boolean> {
  try {
    await handle(record)
    return true
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    console.error(`message ${record.messageId} failed: ${name}: ${message}`)
    return false
  }
}

function failuresOf(records: readonly SQSRecord[]): SQSBatchResponse {
  return { batchItemFailures: records.map(({ messageId }) => ({ itemIdentifier: messageId })) }
}
