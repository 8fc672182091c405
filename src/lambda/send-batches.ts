/**
 * Sends many messages in batches of ten. Entries that failed on the side of SQS are tried again. What was not
 * sent is in the error, by its index.
 */
import { MillraceError } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'
import { type BatchAnswer, callBatch, callsFor, type EntryResult } from '../sqs/batch-call.ts'
import { sdkReasonOf } from '../sqs/sdk-error.ts'
import type { SentEntry, SqsEntry } from '../sqs/send-entry.ts'
import { type SqsSent, UnsentError, type UnsentMessage } from './unsent-error.ts'

export interface BatchSending {
  readonly entries: readonly SqsEntry[]
  readonly sizes: readonly number[]
  /** After a failure in a FIFO queue nothing more is sent, so that later messages do not come first. */
  readonly isFifo: boolean
  readonly timers: Timers
  readonly call: (
    entries: readonly (SqsEntry & { readonly Id: string })[],
  ) => Promise<BatchAnswer<SentEntry>>
}

export async function sendBatches(sending: BatchSending): Promise<readonly SqsSent[]> {
  const { entries, isFifo: keepsOrder, timers, call } = sending
  const sent: (SqsSent | null)[] = entries.map(() => null)
  const unsent = new Map<number, UnsentMessage>()
  let cause: unknown
  for (const batch of callsFor(sending.sizes)) {
    if (cause !== undefined || (keepsOrder && unsent.size > 0)) break
    const some = batch.flatMap((index) => entries[index] ?? [])
    const results = await callBatch({ entries: some, firstId: batch[0], keepsOrder, timers, call })
    for (const [at, index] of batch.entries()) {
      const result = results[at]
      if (result === undefined) continue
      if ('done' in result) sent[index] = sentOf(result.done)
      else unsent.set(index, { index, ...reasonOf(result) })
      if ('error' in result) cause = result.error ?? new MillraceError('send_failed')
    }
  }
  const all: readonly SqsSent[] = sent.filter((one) => one !== null)
  if (all.length === entries.length) return all
  const rest = entries.flatMap((_, index) =>
    sent[index] === null ? [unsent.get(index) ?? { index, ...notTried }] : [],
  )
  throw new UnsentError(rest, sent, cause)
}

const notTried = { code: 'NotSent', reason: 'It was not tried, because an earlier message failed.' }

export function sentOf({ MessageId = '', SequenceNumber }: SentEntry): SqsSent {
  return { id: MessageId, sequence: SequenceNumber ?? null }
}

function reasonOf(
  result: Exclude<EntryResult<SentEntry>, { readonly done: SentEntry }>,
): Pick<UnsentMessage, 'code' | 'reason'> {
  if ('error' in result) return sdkReasonOf(result.error)
  const { Code = 'Unknown', Message = 'SQS gave no reason.' } = result.failed
  return { code: Code, reason: Message }
}
