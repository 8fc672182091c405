/**
 * Messages as jobs of BullMQ. The data of a job is the body as it is, so that programs with BullMQ read the
 * payload of the contract. What is beside it goes into the options of the job as the text of one key, `millrace`:
 * BullMQ keeps unknown options, and Bull Board shows them. It is text because the scripts of BullMQ change numbers
 * and empty lists in objects.
 */
import { Buffer } from 'node:buffer'
import type { MessageAttribute } from '../../../core/message.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { CarrierLabels, CarrierMessage } from '../carrier.ts'

/** The name of jobs that are plain messages. */
export const plainName = 'message'

/** The system attribute with a priority of BullMQ: 1 is the highest, and jobs without one are before all others. */
export const priorityAttribute = 'millrace.priority'

const priorityMax = 2_097_151

export interface JobContent {
  readonly name: string
  /** JSON. */
  readonly data: string
  /** Undefined: BullMQ counts. */
  readonly jobId: string | undefined
  readonly options: Readonly<Record<string, unknown>>
}

/** A job as Redis has it. */
export interface FetchedJob {
  readonly id: string
  readonly name: string
  readonly data: string
  readonly opts: Readonly<Record<string, unknown>>
  readonly timestamp: number
  readonly processedOn: number | undefined
  readonly priority: number
  readonly delay: number
  readonly attemptsMade: number
  readonly stalledCounter: number
}

export interface MessageContent {
  readonly labels: CarrierLabels | null
  readonly body: string
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly systemAttributes: Readonly<Record<string, string>>
  readonly group: string | null
  readonly deduplicationId: string | null
  readonly jobType: string | null
}

/** What the key `millrace` contains, as JSON. */
interface Beside {
  readonly labels?: CarrierLabels
  readonly attributes?: Readonly<Record<string, KeptAttribute>>
  readonly systemAttributes?: Readonly<Record<string, string>>
  readonly group?: string
  readonly deduplicationId?: string
  /** The body is no JSON: the data is a JSON string with it. */
  readonly isText?: true
}

type KeptAttribute =
  | { readonly type: string; readonly value: string }
  | { readonly type: string; readonly base64: string }

/** Throws `invalid_argument` if BullMQ cannot have the job. */
export function jobContent(message: CarrierMessage): JobContent {
  const { labels, body, delayMs, systemAttributes } = message
  const isText = !isExactJson(body)
  const beside = besideOf(message, isText)
  const priority = priorityIn(systemAttributes)
  return {
    name: labels?.job?.type ?? plainName,
    data: isText ? JSON.stringify(body) : body,
    jobId: labels === null ? undefined : jobIdOf(labels.id),
    options: {
      // Only for workers of BullMQ itself: this carrier ends a job only if it is removed.
      ...(labels?.job && { attempts: labels.job.maxAttempts }),
      ...(delayMs !== null && delayMs > 0 && { delay: Math.ceil(delayMs) }),
      ...(priority !== undefined && { priority }),
      ...(beside !== undefined && { millrace: JSON.stringify(beside) }),
    },
  }
}

export function messageContent({ name, data, opts, priority }: FetchedJob): MessageContent {
  const beside = readBeside(opts['millrace'])
  const { labels, attributes = {}, group, deduplicationId, isText } = beside ?? {}
  const given = beside?.systemAttributes ?? {}
  // A program with BullMQ may have changed it.
  const ranked = priority > 0 && { [priorityAttribute]: String(priority) }
  return {
    labels: labels ?? null,
    body: isText ? textIn(data) : data,
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([key, kept]) => [key, attributeOf(kept)]),
    ),
    systemAttributes: { ...given, ...ranked },
    group: group ?? null,
    deduplicationId: deduplicationId ?? null,
    jobType: beside !== undefined || name === plainName || name === '' ? null : name,
  }
}

/** Ids of jobs must not be numbers, contain a colon, or be the name of a key of the queue, such as `wait`. */
export function jobIdOf(id: string): string {
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)) return id
  return `m-${id.replaceAll(/[%:]/g, encodeURIComponent)}`
}

/** Whether it can be the data of a job without being changed by UTF-8. */
function isExactJson(body: string): boolean {
  if (!body.isWellFormed()) return false
  try {
    JSON.parse(body)
    return true
  } catch {
    return false
  }
}

function besideOf(message: CarrierMessage, isText: boolean): Beside | undefined {
  const { labels, attributes, group, deduplicationId } = message
  const { [priorityAttribute]: _priority, ...systemAttributes } = message.systemAttributes
  const beside: Beside = {
    ...(labels !== null && { labels }),
    ...(!isEmpty(attributes) && {
      attributes: Object.fromEntries(
        Object.entries(attributes).map(([key, attribute]) => [key, keptAttribute(attribute)]),
      ),
    }),
    ...(!isEmpty(systemAttributes) && { systemAttributes }),
    ...(group !== null && { group }),
    ...(deduplicationId !== null && { deduplicationId }),
    ...(isText && { isText }),
  }
  return isEmpty(beside) ? undefined : beside
}

function isEmpty(record: object): boolean {
  return Object.keys(record).length === 0
}

function readBeside(text: unknown): Beside | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const beside: unknown = JSON.parse(text)
    return typeof beside === 'object' && beside !== null ? (beside as Beside) : undefined
  } catch {
    return undefined
  }
}

/** A program with BullMQ may have replaced the data of a job that was text. */
function textIn(data: string): string {
  try {
    const text: unknown = JSON.parse(data)
    return typeof text === 'string' ? text : data
  } catch {
    return data
  }
}

function keptAttribute({ type, value }: MessageAttribute): KeptAttribute {
  if (typeof value === 'string') return { type, value }
  return { type, base64: Buffer.from(value).toString('base64') }
}

function attributeOf(kept: KeptAttribute): MessageAttribute {
  if ('value' in kept) return kept
  return { type: kept.type, value: new Uint8Array(Buffer.from(kept.base64, 'base64')) }
}

function priorityIn(attributes: Readonly<Record<string, string>>): number | undefined {
  const given = attributes[priorityAttribute]
  if (given === undefined) return undefined
  const priority = Number(given)
  if (Number.isInteger(priority) && priority >= 1 && priority <= priorityMax) return priority
  throw MillraceError.invalid([
    {
      field: `systemAttributes['${priorityAttribute}']`,
      given: `'${given.slice(0, 40)}'`,
      allowed: `a whole number, 1 to ${priorityMax}`,
    },
  ])
}
