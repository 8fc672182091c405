/**
 * Converts the properties of `AWS::SQS::Queue` to settings of a queue. They have the names of SQS attributes,
 * so they are parsed like the attributes of an SQS request.
 */
import { didYouMean } from '../core/did-you-mean.ts'
import { describeRange, limits, type Range } from '../core/limits.ts'
import type { QueueSettings } from '../core/queue-settings.ts'
import { AttributeRefusal } from '../sqs/attribute-refusal.ts'
import { formatArn, parseArn, type QueueAddress, type QueuePlace } from '../sqs/queue-address.ts'
import { type QueueAttributes, settingsFromAttributes } from '../sqs/queue-attributes.ts'
import { describeNode, type Node } from './node.ts'
import type { PropertyReader } from './property-reader.ts'
import { firstOpaque } from './texts.ts'

/** In the unit of the property, for problem messages. */
const ranges: Readonly<Record<string, Range>> = {
  VisibilityTimeout: inSeconds(limits.visibilityMs),
  DelaySeconds: inSeconds(limits.delayMs),
  MessageRetentionPeriod: inSeconds(limits.retentionMs),
  ReceiveMessageWaitTimeSeconds: inSeconds(limits.receiveWaitMs),
  MaximumMessageSize: limits.messageBytesMax,
}

const documents: readonly string[] = ['RedrivePolicy', 'RedriveAllowPolicy']

/** Ordered so that each can be checked against those before it. */
const attributeProperties: readonly string[] = [
  ...Object.keys(ranges),
  ...documents,
  'ContentBasedDeduplication',
  'DeduplicationScope',
  'FifoThroughputLimit',
  'KmsMasterKeyId',
  'KmsDataKeyReusePeriodSeconds',
  'SqsManagedSseEnabled',
]

const knownProperties: readonly string[] = [
  ...attributeProperties,
  'FifoQueue',
  'QueueName',
  'Tags',
]

export function readQueueSettings(
  reader: PropertyReader,
  queue: QueueAddress,
): Partial<QueueSettings> {
  refuseUnknown(reader)
  const isFifo = reader.flag('FifoQueue') === true
  const scene = { queue, home: queue, type: isFifo ? 'fifo' : 'standard' } as const
  let accepted: QueueAttributes = isFifo ? { FifoQueue: 'true' } : {}
  let settings = settingsFromAttributes(accepted, scene)
  for (const name of attributeProperties) {
    const value = reader.value(name)
    const text = value === undefined ? undefined : attributeText(reader, name, value, queue)
    if (text === undefined) continue
    try {
      const wider = { ...accepted, [name]: text }
      settings = settingsFromAttributes(wider, scene)
      accepted = wider
    } catch (error) {
      if (!(error instanceof AttributeRefusal)) throw error
      reader.refuse(name, explained(name, value, error))
    }
  }
  return { type: scene.type, ...settings }
}

/** Returns undefined if the value is not valid, which is reported. */
function attributeText(
  reader: PropertyReader,
  name: string,
  value: Node,
  place: QueuePlace,
): string | undefined {
  const unknown = firstOpaque(value)
  // The key is only displayed, so a placeholder is enough.
  if (value.kind === 'opaque' && name === 'KmsMasterKeyId') return value.text
  if (unknown?.kind === 'opaque') {
    reader.refuseAt(
      unknown,
      `${name} is required, but its value is only known on AWS: ${unknown.what}.`,
    )
    return undefined
  }
  if (unknown !== undefined) return undefined
  if (!documents.includes(name)) return reader.text(name)
  const document = reader.document(name)
  return document === undefined ? undefined : JSON.stringify(atHome(document.json(), place))
}

/**
 * Replaces regions and accounts in ARNs. A template may be written for another region or account, but here
 * all queues have the same.
 */
function atHome(value: unknown, place: QueuePlace): unknown {
  if (typeof value === 'string') {
    const address = parseArn(value)
    return address === undefined ? value : formatArn({ ...place, name: address.name })
  }
  if (Array.isArray(value)) return value.map((item) => atHome(item, place))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, atHome(inner, place)]),
  )
}

function explained(name: string, value: Node | undefined, refusal: AttributeRefusal): string {
  const range = ranges[name]
  if (range === undefined || value === undefined) return refusal.message
  return `${name} must be a whole number, ${describeRange(range)}; it is ${describeNode(value)}.`
}

function inSeconds({ min, max }: Range): Range {
  return { min: min / 1_000, max: max / 1_000, unit: 'seconds' }
}

function refuseUnknown(reader: PropertyReader): void {
  for (const [name, origin] of reader.written()) {
    if (knownProperties.includes(name)) continue
    const shown = name.slice(0, 80)
    const hint = didYouMean(shown, knownProperties)
    reader.refuseAt(origin, `A queue has no property '${shown}'${hint || '.'}`)
  }
}
