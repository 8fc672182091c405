/**
 * Sends many messages in batches of ten. Entries that failed on the side of SQS are tried again. What was not
 * sent is in the error, by its index.
 */
import { isError } from '../core/is-error.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { pause } from '../core/pause.ts'
import type { Timers } from '../core/ports.ts'
import type { BatchAnswer, SentEntry, SqsEntry } from './sqs-client.ts'
import { type SqsSent, UnsentError, type UnsentMessage } from './unsent-error.ts'

export interface BatchSending {
  readonly entries: readonly SqsEntry[]
  readonly sizes: readonly number[]
  /** After a failure in a FIFO queue nothing more is sent, so that later messages do not come first. */
  readonly isFifo: boolean
  readonly timers: Timers
  readonly call: (entries: readonly (SqsEntry & { readonly Id: string })[]) => Promise<BatchAnswer>
}

const entriesMax = 10
const bytesMax = 1_048_576
const triesMax = 3
const retryMs = 100

export async function sendBatches(sending: BatchSending): Promise<readonly SqsSent[]> {
  const { entries, isFifo } = sending
  const sent: (SqsSent | null)[] = entries.map(() => null)
  const unsent = new Map<number, UnsentMessage>()
  let cause: unknown
  for (const batch of batchesOf(sending.sizes)) {
    if (cause !== undefined || (isFifo && unsent.size > 0)) break
    try {
      await sendBatch(sending, batch, { sent, unsent })
    } catch (error) {
      cause = error ?? new MillraceError('send_failed')
      for (const index of batch) {
        if (sent[index] === null) unsent.set(index, { index, ...reasonOf(error) })
      }
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

interface Progress {
  readonly sent: (SqsSent | null)[]
  readonly unsent: Map<number, UnsentMessage>
}

/** Sends one batch. Entries that may pass later are tried again, except in a FIFO queue. */
async function sendBatch(
  { entries, isFifo, timers, call }: BatchSending,
  batch: readonly number[],
  { sent, unsent }: Progress,
): Promise<void> {
  let pending = batch
  for (let tries = 1; pending.length > 0; tries += 1) {
    const { Successful = [], Failed = [] } = await call(
      pending.flatMap((index) => {
        const entry = entries[index]
        return entry === undefined ? [] : [{ ...entry, Id: String(index) }]
      }),
    )
    for (const one of Successful) sent[Number(one.Id)] = sentOf(one)
    for (const { Id, Code = unknown, Message = noReason } of Failed) {
      unsent.set(Number(Id), { index: Number(Id), code: Code, reason: Message })
    }
    if (isFifo || tries === triesMax) return
    pending = Failed.filter(({ SenderFault = false }) => !SenderFault).map(({ Id }) => Number(Id))
    if (pending.length > 0) await pause(timers, retryMs * 2 ** (tries - 1))
  }
}

export function sentOf({ MessageId = '', SequenceNumber }: SentEntry): SqsSent {
  return { id: MessageId, sequence: SequenceNumber ?? null }
}

/** The code and text of an error of the SDK. */
export function reasonOf(error: unknown): Pick<UnsentMessage, 'code' | 'reason'> {
  if (!isError(error)) return { code: unknown, reason: String(error) }
  const { name, message } = error
  // Errors of SQS are named after their code. Those of the network have a code, and often no text.
  const code = '$fault' in error || !('code' in error) ? name : String(error.code)
  const [first] = 'errors' in error && Array.isArray(error.errors) ? error.errors : []
  const text = message || (isError(first) ? first.message : '')
  return { code: code === 'Error' ? unknown : code, reason: text || noReason }
}

const unknown = 'Unknown'
const noReason = 'SQS gave no reason.'

/** The indexes of the messages, ten at a time and at most as many bytes as SQS takes in one call. */
function batchesOf(sizes: readonly number[]): readonly (readonly number[])[] {
  const batches: number[][] = []
  let bytes = 0
  for (const [index, size] of sizes.entries()) {
    const last = batches.at(-1)
    bytes += size
    if (last !== undefined && last.length < entriesMax && bytes <= bytesMax) {
      last.push(index)
    } else {
      batches.push([index])
      bytes = size
    }
  }
  return batches
}
