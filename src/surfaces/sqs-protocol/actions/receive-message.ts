/** ReceiveMessage: leases messages to the client, with long polling. */
import type { Delivery, Receive } from '../../../backends/backend.ts'
import { isFifoName } from '../../../core/check-queue.ts'
import { limits } from '../../../core/limits.ts'
import { digestOfAttributes, digestOfBody } from '../../../sqs/message-digest.ts'
import { receivedAttributes } from '../../../sqs/received-attributes.ts'
import { systemAttributesOf } from '../../../sqs/system-attributes.ts'
import { type Action, type ActionContext, action } from '../action.ts'
import { messageAttributes } from '../messages/attribute-shapes.ts'
import { writeAttributes } from '../messages/message-attributes.ts'
import { checkId } from '../messages/outgoing-message.ts'
import { attributeFilter, wantedSystemAttributes } from '../messages/receive-filter.ts'
import { invalidValue, notForThisType } from '../refusals.ts'
import { integer, listOf, mapOf, structure, text, type ValueOf } from '../shapes.ts'

const input = structure({
  QueueUrl: text,
  AttributeNames: listOf('AttributeName', text),
  MessageSystemAttributeNames: listOf('MessageSystemAttributeName', text),
  MessageAttributeNames: listOf('MessageAttributeName', text),
  MaxNumberOfMessages: integer,
  VisibilityTimeout: integer,
  WaitTimeSeconds: integer,
  ReceiveRequestAttemptId: text,
})

const message = structure({
  MessageId: text,
  ReceiptHandle: text,
  MD5OfBody: text,
  Body: text,
  Attributes: mapOf('Attribute', 'Name', text),
  MD5OfMessageAttributes: text,
  MessageAttributes: messageAttributes,
})

type Request = ValueOf<typeof input>

export const receiveMessage: Action = action({
  name: 'ReceiveMessage',
  input,
  output: structure({ Messages: listOf('Message', message) }),
  onQueue: true,
  async run(context, request) {
    const deliveries = await context.store.receive(readRequest(context, request))
    return deliveries.length === 0 ? {} : { Messages: wireMessages(context, request, deliveries) }
  },
  async takeBack(context, { Messages = [] }) {
    if (Messages.length === 0) return
    // The client never got the messages, so this receive must not count.
    const settlements = Messages.map(({ ReceiptHandle = '' }) => {
      return { receipt: ReceiptHandle, outcome: { kind: 'release' } } as const
    })
    await context.store.settle({ queue: context.queue().name, settlements })
  },
})

const messagesMax = 10
const visibilityMax = limits.visibilityMs.max / 1_000
const waitMax = limits.receiveWaitMs.max / 1_000

function readRequest(context: ActionContext, request: Request): Receive {
  const { MaxNumberOfMessages: max = 1, VisibilityTimeout, WaitTimeSeconds } = request
  if (!(max >= 1 && max <= messagesMax)) {
    const reason = `Must be between 1 and ${messagesMax}, if provided.`
    throw invalidValue({ parameter: 'MaxNumberOfMessages', value: max, reason })
  }
  checkSeconds('VisibilityTimeout', VisibilityTimeout, visibilityMax)
  checkSeconds('WaitTimeSeconds', WaitTimeSeconds, waitMax)
  const { name: queue } = context.queue()
  const attemptId = readAttemptId(context, request)
  return {
    queue,
    max,
    ...(VisibilityTimeout !== undefined && { visibilityMs: VisibilityTimeout * 1_000 }),
    ...(WaitTimeSeconds !== undefined && { waitMs: WaitTimeSeconds * 1_000 }),
    ...(attemptId !== undefined && { attemptId }),
    // Without a wait, the client cannot disconnect while it waits.
    ...(WaitTimeSeconds !== 0 && { signal: context.gone() }),
  }
}

function checkSeconds(parameter: string, value: number | undefined, max: number): void {
  if (value === undefined || (value >= 0 && value <= max)) return
  throw invalidValue({ parameter, value, reason: `Must be >= 0 and <= ${max}, if provided.` })
}

function readAttemptId(context: ActionContext, request: Request): string | undefined {
  const parameter = 'ReceiveRequestAttemptId'
  const { [parameter]: value } = request
  if (value === undefined) return undefined
  if (!isFifoName(context.queue().address.name)) {
    throw invalidValue({ parameter, value, reason: `${notForThisType}.` })
  }
  checkId(parameter, value)
  return value
}

function wireMessages(
  { settings }: ActionContext,
  request: Request,
  deliveries: readonly Delivery[],
): readonly ValueOf<typeof message>[] {
  const { AttributeNames, MessageSystemAttributeNames, MessageAttributeNames } = request
  const systemNames = wantedSystemAttributes(AttributeNames, MessageSystemAttributeNames)
  const filter = attributeFilter(MessageAttributeNames)
  return deliveries.map((delivery) => {
    const attributes = filter?.(receivedAttributes(delivery))
    return {
      MessageId: delivery.id,
      ReceiptHandle: delivery.receipt,
      MD5OfBody: digestOfBody(delivery.body),
      Body: delivery.body,
      Attributes: systemNames && systemAttributesOf(delivery, settings.home, systemNames),
      // Only of the returned attributes, so that the receiver can verify it.
      MD5OfMessageAttributes: attributes && digestOfAttributes(attributes),
      MessageAttributes: attributes && writeAttributes(attributes),
    }
  })
}
