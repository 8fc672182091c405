/**
 * Converts the message of a SendMessage, or of an entry of SendMessageBatch, to a message of the store.
 * Checks that only SQS has are made here. The store checks size, characters and content deduplication; its
 * errors are converted afterwards.
 */
import { idPattern } from '../../../core/check-message.ts'
import { limits } from '../../../core/limits.ts'
import type { NewMessage } from '../../../core/message.ts'
import { traceHeaderName } from '../../../core/trace-context.ts'
import { senderKey } from '../../../sqs/system-attributes.ts'
import type { ActionContext } from '../action.ts'
import { invalidParameter, invalidValue, missingParameter, notForThisType } from '../refusals.ts'
import { integer, type StructureShape, text, type ValueOf } from '../shapes.ts'
import {
  type AttributeMapShape,
  messageAttributes,
  messageSystemAttributes,
} from './attribute-shapes.ts'
import { type JobRequest, readJobRequest } from './job-request.ts'
import { readAttributes, readTraceHeader } from './message-attributes.ts'

export interface MessageMembers {
  readonly MessageBody: typeof text
  readonly DelaySeconds: typeof integer
  readonly MessageAttributes: AttributeMapShape
  readonly MessageSystemAttributes: AttributeMapShape
  readonly MessageDeduplicationId: typeof text
  readonly MessageGroupId: typeof text
}

export const messageMembers: MessageMembers = {
  MessageBody: text,
  DelaySeconds: integer,
  MessageAttributes: messageAttributes,
  MessageSystemAttributes: messageSystemAttributes,
  MessageDeduplicationId: text,
  MessageGroupId: text,
}

type Fields = ValueOf<
  StructureShape<{ readonly [Name in keyof MessageMembers]: MessageMembers[Name] }>
>

export interface Destination {
  readonly isFifo: boolean
  /** The name of the entry in a batch, `SendMessageBatchRequestEntry.1`; undefined for a single send. */
  readonly entry: string | undefined
}

export interface Outgoing {
  readonly message: NewMessage
  /** What makes it a job; undefined for a plain message. */
  readonly job: JobRequest | undefined
  /** All attributes of the request, for the digest in the response. */
  readonly attributes: NewMessage['attributes'] | undefined
  /** From the system attributes. A trace header of the request is stored but not part of the response. */
  readonly traceHeader: string | undefined
}

export function readMessage(
  context: ActionContext,
  fields: Fields,
  destination: Destination,
): Outgoing {
  const { MessageBody: body, DelaySeconds: delay } = fields
  const { MessageGroupId: group, MessageDeduplicationId: deduplicationId } = fields
  if (body === undefined || body === '') {
    const { entry } = destination
    throw missingParameter(entry === undefined ? 'MessageBody' : `${entry}.MessageBody`)
  }
  if (delay !== undefined) checkDelay(delay, destination)
  checkGroup(group, destination)
  checkDeduplicationId(deduplicationId, destination)
  const { all, own: attributes, job } = readAttributes(fields.MessageAttributes)
  const message: { -readonly [Name in keyof NewMessage]: NewMessage[Name] } = { body }
  // On a FIFO queue only 0 is allowed, and it means the delay of the queue.
  if (delay !== undefined && !destination.isFifo) message.delayMs = delay * 1_000
  if (attributes !== undefined) message.attributes = attributes
  if (group !== undefined) message.group = group
  if (deduplicationId !== undefined) message.deduplicationId = deduplicationId
  const given = fields.MessageSystemAttributes
  const traceHeader = given === undefined ? undefined : readTraceHeader(given)
  const beside = keptBeside(context, traceHeader)
  if (beside !== undefined) message.systemAttributes = beside
  return { message, job: job && readJobRequest(job), attributes: all, traceHeader }
}

/** Returns undefined if there is nothing to keep, because plain messages cost the store least. */
function keptBeside(
  { caller, settings, traceHeader: header }: ActionContext,
  given: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const traceHeader = given ?? header
  const isForeign = caller.id !== settings.home.account
  if (traceHeader === undefined && !isForeign) return undefined
  return {
    ...(traceHeader !== undefined && { [traceHeaderName]: traceHeader }),
    ...(isForeign && { [senderKey]: caller.id }),
  }
}

const delayMax = limits.delayMs.max / 1_000

function checkDelay(value: number, { isFifo }: Destination): void {
  const parameter = 'DelaySeconds'
  if (isFifo && value !== 0) {
    throw invalidValue({ parameter, value, reason: `${notForThisType}.` })
  }
  if (value >= 0 && value <= delayMax) return
  const reason = `${parameter} must be >= 0 and <= ${delayMax}.`
  throw invalidValue({ parameter, value, reason })
}

function checkGroup(group: string | undefined, { isFifo, entry }: Destination): void {
  if (group !== undefined) checkId('MessageGroupId', group)
  if (group !== undefined || !isFifo) return
  const missing = missingParameter('MessageGroupId')
  throw entry === undefined ? missing : invalidParameter(missing.message)
}

function checkDeduplicationId(id: string | undefined, { isFifo, entry }: Destination): void {
  if (id !== undefined && isFifo) checkId('MessageDeduplicationId', id)
  if (id === undefined || isFifo) return
  throw invalidParameter(
    entry === undefined
      ? 'The request include parameter MessageDeduplicationId which is not valid for this queue type'
      : notForThisType,
  )
}

/** Group ids, deduplication ids and receive attempt ids have the same format. */
export function checkId(parameter: string, value: string): void {
  const lengthMax = limits.groupLength.max
  if (value.length <= lengthMax && idPattern.test(value)) return
  const reason = `${parameter} can only include alphanumeric and punctuation characters. 1 to ${lengthMax} in length.`
  throw invalidValue({ parameter, value, reason })
}
