/** Reads a request for a new job. Checks its form; the app checks its contract. */
import type { Duration } from '../../core/durations.ts'
import { jobLabelNames, jobLabels, type LabelsView, labelsFrom } from '../../core/job-labels.ts'
import { limits } from '../../core/limits.ts'
import { snakeCase } from '../../core/snake-case.ts'
import { parseTraceparent } from '../../core/trace-context.ts'
import type { EnqueueOptions } from '../../jobs/job-options.ts'
import type { DebounceOptions, ThrottleOptions } from '../../jobs/job-windows.ts'
import { ApiProblem } from './api-problem.ts'
import { type Caller, isTrusted } from './caller.ts'
import { type DueFields, dueFields, dueFrom } from './due-request.ts'
import type { KnownQueue } from './jobs-context.ts'
import { type FieldKinds, readFields } from './read-fields.ts'

export interface EnqueueRequest {
  readonly type: string
  readonly payload: unknown
  readonly options: EnqueueOptions
}

export interface EnqueueInput {
  readonly body: unknown
  /** The header Idempotency-Key. */
  readonly keyHeader: string | undefined
  /** The header traceparent. */
  readonly traceparent: string | undefined
  readonly caller: Caller
  readonly queue: KnownQueue
}

const fields: FieldKinds = {
  type: 'text',
  payload: 'any',
  idempotency_key: 'text',
  throttle: { key: 'text', window: 'text' },
  debounce: { key: 'text', window: 'text', max_wait: 'text' },
  owner: 'text',
  tenant: 'text',
  ...Object.fromEntries(jobLabelNames.map((name) => [snakeCase(name), jobLabels[name].kind])),
  ...dueFields,
  expires_after: 'text',
  attempts: 'number',
}

/** The fields that users may set. Owner, delay, attempts and the rest are not theirs to choose. */
export const fieldsOfUsers: readonly string[] = ['type', 'payload', 'idempotency_key']

const kindsForUsers: FieldKinds = Object.fromEntries(
  Object.entries(fields).filter(([name]) => fieldsOfUsers.includes(name)),
)

/** The fields, after `readFields` has checked their types. */
interface Fields extends Partial<LabelsView>, DueFields {
  readonly type?: string
  readonly payload?: unknown
  readonly idempotency_key?: string
  readonly throttle?: ThrottleOptions
  readonly debounce?: ThrottleOptions & { readonly max_wait?: Duration }
  readonly owner?: string
  readonly tenant?: string
  readonly expires_after?: Duration
  readonly attempts?: number
}

export function readEnqueueRequest(input: EnqueueInput): EnqueueRequest {
  const { body, caller, queue } = input
  const given: Fields = readFields(body, isTrusted(caller) ? fields : kindsForUsers)
  const type = given.type ?? onlyTypeOf(queue)
  if (type === undefined) {
    const names = Object.keys(queue.declared.options.types)
    throw ApiProblem.invalid({ field: 'type', expected: `one of ${names.join(', ')}` })
  }
  return { type, payload: given.payload, options: optionsOf(given, input) }
}

/** The type, if the queue has exactly one. */
function onlyTypeOf({ declared }: KnownQueue): string | undefined {
  const [type, ...others] = Object.keys(declared.options.types)
  return others.length === 0 ? type : undefined
}

function optionsOf(given: Fields, input: EnqueueInput): EnqueueOptions {
  const { caller, keyHeader, traceparent } = input
  const { throttle, debounce, tenant, expires_after: expiresAfter, attempts } = given
  const idempotencyKey = idempotencyKeyOf(given.idempotency_key, keyHeader)
  // The default owner of a service's job is the service. A job from an admin has no owner by default.
  const owner = given.owner ?? caller.owner
  return {
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(throttle !== undefined && { throttle }),
    ...(debounce !== undefined && { debounce: debounceFrom(debounce) }),
    ...(owner !== null && { owner }),
    ...(tenant !== undefined && { tenant }),
    ...labelsFrom(given),
    ...dueFrom(given),
    ...(expiresAfter !== undefined && { expiresAfter }),
    ...(attempts !== undefined && { attempts }),
    ...(isTraceparent(traceparent) && { traceparent }),
  }
}

/** The standard asks to ignore an invalid header. */
function isTraceparent(header: string | undefined): header is string {
  return header !== undefined && parseTraceparent(header) !== undefined
}

function debounceFrom({
  max_wait: maxWait,
  ...debounce
}: NonNullable<Fields['debounce']>): DebounceOptions {
  return { ...debounce, ...(maxWait !== undefined && { maxWait }) }
}

function idempotencyKeyOf(
  field: string | undefined,
  header: string | undefined,
): string | undefined {
  if (header === undefined) return field
  const key = keyFromHeader(header)
  if (field === undefined || field === key) return key
  throw ApiProblem.invalid({
    field: 'idempotency_key',
    expected: 'the same as the header Idempotency-Key, or only one of them',
  })
}

/** The draft standard quotes the value, as a structured field. Most clients send it without quotes. */
function keyFromHeader(header: string): string {
  const [, quoted] = /^"((?:[\x20\x21\x23-\x5B\x5D-\x7E]|\\["\\])*)"$/.exec(header) ?? []
  const key = quoted?.replaceAll(/\\(["\\])/g, '$1') ?? header
  const { min, max } = limits.idempotencyKeyLength
  if (/^[\x20-\x7E]*$/.test(key) && key.length >= min && key.length <= max) return key
  throw ApiProblem.invalid({
    field: 'Idempotency-Key',
    expected: `${min} to ${max} printable ASCII characters`,
  })
}
