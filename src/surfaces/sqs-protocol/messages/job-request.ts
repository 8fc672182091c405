/** The attributes of a send that make a message a tracked job. */
import type { NewJob } from '../../../backends/job-store.ts'
import type { MessageAttribute, NewMessage } from '../../../core/message.ts'
import { sentJobAttributes as names } from '../../../sqs/job-attributes.ts'
import { invalidParameter } from '../refusals.ts'

export interface JobRequest {
  readonly type: string
  readonly owner?: string
  readonly idempotencyKey?: string
  readonly maxAttempts?: number
}

type Attributes = Readonly<Record<string, MessageAttribute>>

export function readJobRequest(attributes: Attributes): JobRequest {
  const type = textOf(attributes, names.type)
  const owner = textOf(attributes, names.owner)
  const idempotencyKey = textOf(attributes, names.idempotencyKey)
  const maxAttempts = integerOf(attributes, names.maxAttempts)
  if (type === undefined) {
    const [given = ''] = Object.keys(attributes)
    throw invalidParameter(`The message attribute '${given}' needs the attribute '${names.type}'.`)
  }
  return {
    type,
    ...(owner !== undefined && { owner }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(maxAttempts !== undefined && { maxAttempts }),
  }
}

function textOf(attributes: Attributes, name: string): string | undefined {
  const attribute = attributes[name]
  if (attribute === undefined) return undefined
  const { type, value } = attribute
  if (type === 'String' && typeof value === 'string') return value
  throw invalidParameter(`The data type of message attribute '${name}' must be String.`)
}

function integerOf(attributes: Attributes, name: string): number | undefined {
  const attribute = attributes[name]
  if (attribute === undefined) return undefined
  const { type, value } = attribute
  if (type === 'Number' && typeof value === 'string' && /^\d{1,9}$/.test(value)) {
    return Number(value)
  }
  throw invalidParameter(`The message attribute '${name}' must be a whole number of type Number.`)
}

/** The job in the form of the store. Its tenant is the message group. */
export function jobOf(
  { type, owner, idempotencyKey: key, maxAttempts }: JobRequest,
  { body, group, ...others }: NewMessage,
): NewJob {
  return {
    ...others,
    type,
    payload: body,
    ...(group !== undefined && { tenant: group }),
    ...(owner !== undefined && { owner }),
    ...(key !== undefined && { idempotency: { key } }),
    ...(maxAttempts !== undefined && { maxAttempts }),
  }
}
