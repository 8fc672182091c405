/** A message of a carrier as an entry for SQS, or why SQS would refuse it. */
import { messageBytes } from '../../../core/check-message.ts'
import { formatDuration } from '../../../core/durations.ts'
import { limits } from '../../../core/limits.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { traceHeaderName, traceHeaderOf } from '../../../core/trace-context.ts'
import { bytesPerCall } from '../../../sqs/batch-call.ts'
import { textAttribute } from '../../../sqs/job-attributes.ts'
import { type SqsEntry, sendEntryOf } from '../../../sqs/send-entry.ts'
import type { CarrierMessage } from '../carrier.ts'
import { formatLabels, labelsAttribute } from './labels.ts'

export interface OutgoingEntry {
  readonly entry: SqsEntry
  readonly bytes: number
  readonly group: string | null
}

const attributesMax = limits.attributesPerMessage.max

/** @param isFifo a FIFO queue delays its messages itself, all by the same time, and so does the store */
export function outgoingEntry(
  message: CarrierMessage,
  isFifo: boolean,
): OutgoingEntry | MillraceError {
  const { labels, body, delayMs, group, deduplicationId } = message
  const { [traceHeaderName]: _header, ...systemAttributes } = message.systemAttributes
  const text = formatLabels({ labels, systemAttributes })
  const attributes = {
    ...message.attributes,
    ...(text !== undefined && { [labelsAttribute]: textAttribute(text) }),
  }
  const bytes = messageBytes({ body, attributes })
  const refusal = refusalOf(message, { isFifo, bytes, hasLabels: text !== undefined })
  if (refusal !== undefined) return refusal
  const entry = sendEntryOf({
    body,
    group,
    attributes,
    traceHeader: traceHeaderOf(message.systemAttributes),
    ...(isFifo ? { deduplicationId } : { delayMs }),
  })
  return { entry, bytes, group }
}

interface EntryFacts {
  readonly isFifo: boolean
  readonly bytes: number
  readonly hasLabels: boolean
}

function refusalOf(
  { attributes, delayMs }: CarrierMessage,
  { isFifo, bytes, hasLabels }: EntryFacts,
): MillraceError | undefined {
  const own = Object.keys(attributes).length
  const ownMax = attributesMax - Number(hasLabels)
  if (own > ownMax || labelsAttribute in attributes) {
    const given = own > ownMax ? `${own} attributes` : `an attribute named ${labelsAttribute}`
    const reason = hasLabels ? `, because Millrace needs one of the ${attributesMax} of SQS` : ''
    const allowed = `at most ${ownMax} with other names${reason}`
    return MillraceError.invalid([{ field: 'attributes', given, allowed }], 'invalid_message')
  }
  const { max } = limits.delayMs
  if (!isFifo && delayMs !== null && delayMs > max) {
    const given = formatDuration(delayMs)
    const allowed = `at most ${formatDuration(max)}, which is the limit of SQS`
    return MillraceError.invalid([{ field: 'delay', given, allowed }], 'invalid_message')
  }
  if (bytes <= bytesPerCall) return undefined
  const given = `${bytes} bytes with attributes`
  const allowed = `at most ${bytesPerCall} bytes, which is the limit of SQS`
  return MillraceError.invalid([{ field: 'message', given, allowed }], 'message_too_large')
}
