/** The attributes of a message as SQS clients and functions receive them. */
import type { Delivery } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'
import type { MessageAttribute } from '../core/message.ts'
import { jobAttributes } from './job-attributes.ts'

type Attributes = Readonly<Record<string, MessageAttribute>>

/** The most important first. */
const carried = ['traceparent', 'tracestate', 'baggage'] as const

/** Those of the sender, those of its trace, and those of a job. */
export function receivedAttributes(
  delivery: Pick<Delivery, 'attributes' | 'systemAttributes' | 'job' | 'leaseExpiresAt'>,
): Attributes {
  const { job } = delivery
  const attributes = withTrace(delivery)
  return job === null ? attributes : { ...attributes, ...jobAttributes(job, delivery) }
}

/**
 * Instrumentations of SQS clients look for the trace context among the attributes, so the context of a message
 * that an app sent is added while there is room.
 */
function withTrace({
  attributes,
  systemAttributes,
}: Pick<Delivery, 'attributes' | 'systemAttributes'>): Attributes {
  if (systemAttributes['traceparent'] === undefined) return attributes
  const own = Object.entries(attributes)
  const added = carried.flatMap((name): readonly [string, MessageAttribute][] => {
    const value = systemAttributes[name]
    if (value === undefined || Object.hasOwn(attributes, name)) return []
    return [[name, { type: 'String', value }]]
  })
  const room = Math.max(0, limits.attributesPerMessage.max - own.length)
  return Object.fromEntries([...own, ...added.slice(0, room)])
}
