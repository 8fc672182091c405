/** A message that SQS delivered, as a carrier delivers it. */
import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs'
import type { MessageAttribute } from '../../../core/message.ts'
import { traceHeaderName, traceHeaderOf } from '../../../core/trace-context.ts'
import { sentJobAttributes } from '../../../sqs/job-attributes.ts'
import { parseArn } from '../../../sqs/queue-address.ts'
import type { DeadLetterOrigin } from '../../stored-message.ts'
import type { CarrierDelivery, CarrierLabels } from '../carrier.ts'
import { type Labelled, labelsAttribute, parseLabels } from './labels.ts'

/** @param queueOf the queue of the app with that name at SQS */
export function deliveryOf(message: Message, queueOf: (name: string) => string): CarrierDelivery {
  const { MessageId: id = '', ReceiptHandle: handle = '', Body: body = '' } = message
  const system: Readonly<Record<string, string | undefined>> = message.Attributes ?? {}
  const all = attributesOf(message.MessageAttributes ?? {})
  const { [labelsAttribute]: written, [sentJobAttributes.type]: type, ...others } = all
  const labelled = labelledIn(written)
  const foreign = labelled === undefined && written !== undefined
  const sentAt = Number(system['SentTimestamp'] ?? 0)
  const firstReceivedAt = Number(system['ApproximateFirstReceiveTimestamp'] ?? sentAt)
  const origin = originOf(system['DeadLetterQueueSourceArn'], { at: firstReceivedAt, queueOf })
  return {
    handle,
    id,
    labels: withOrigin(labelled?.labels ?? null, { id, origin }),
    body,
    attributes: foreign ? { ...others, [labelsAttribute]: written } : others,
    systemAttributes: systemAttributesOf(labelled?.systemAttributes ?? {}, system[traceHeaderName]),
    group: system['MessageGroupId'] ?? null,
    deduplicationId: system['MessageDeduplicationId'] ?? null,
    sentAt,
    firstReceivedAt,
    receiveCount: Number(system['ApproximateReceiveCount'] ?? 1),
    jobType: typeof type?.value === 'string' ? type.value : null,
  }
}

function attributesOf(
  given: Readonly<Record<string, MessageAttributeValue>>,
): Readonly<Record<string, MessageAttribute>> {
  return Object.fromEntries(
    Object.entries(given).map(([name, { DataType: type = 'String', StringValue, BinaryValue }]) => [
      name,
      { type, value: StringValue ?? bytesOf(BinaryValue) },
    ]),
  )
}

/** A copy of its own: what the SDK returns may be a view on a buffer that is used for other things. */
function bytesOf(value: Uint8Array | undefined): Uint8Array {
  return value === undefined ? new Uint8Array() : Uint8Array.from(value)
}

function labelledIn(attribute: MessageAttribute | undefined): Labelled | undefined {
  return typeof attribute?.value === 'string' ? parseLabels(attribute.value) : undefined
}

interface OriginScene {
  readonly at: number
  readonly queueOf: (name: string) => string
}

/** SQS does not report when it moved a message. The first receive is the last time that it reports. */
function originOf(
  arn: string | undefined,
  { at, queueOf }: OriginScene,
): DeadLetterOrigin | undefined {
  if (arn === undefined) return undefined
  const name = parseArn(arn)?.name ?? arn.slice(arn.lastIndexOf(':') + 1)
  return { source: queueOf(name), at, reason: null }
}

function withOrigin(
  labels: CarrierLabels | null,
  { id, origin }: { readonly id: string; readonly origin: DeadLetterOrigin | undefined },
): CarrierLabels | null {
  if (origin === undefined) return labels
  return { id, isTracked: false, job: null, deadLetterOrigin: origin, ...labels }
}

/** A header that was made from the trace context beside the message adds nothing. */
function systemAttributesOf(
  kept: Readonly<Record<string, string>>,
  header: string | undefined,
): Readonly<Record<string, string>> {
  if (header === undefined || header === traceHeaderOf(kept)) return kept
  return { ...kept, [traceHeaderName]: header }
}
