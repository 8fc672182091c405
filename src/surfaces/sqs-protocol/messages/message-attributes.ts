/**
 * Converts message attributes between the SQS protocols and the store, with the error texts of SQS. The store
 * checks them again, and accepts everything that passes here.
 */
import {
  attributeNamePattern,
  attributeNumberPattern,
  hasForbiddenCharacter,
  reservedNamePattern,
} from '../../../core/check-message.ts'
import { limits } from '../../../core/limits.ts'
import type { MessageAttribute } from '../../../core/message.ts'
import { traceHeaderName } from '../../../core/trace-context.ts'
import { jobAttributePrefix, sentJobAttributes } from '../../../sqs/job-attributes.ts'
import { invalidParameter } from '../refusals.ts'
import { SqsError } from '../sqs-error.ts'
import type { WireAttribute, WireAttributes } from './attribute-shapes.ts'
import { describeForbiddenCharacter } from './forbidden-character.ts'

type Attributes = Readonly<Record<string, MessageAttribute>>

/** Attributes of the sender, and attributes for SQS itself. */
type Kind = '(user)' | 'system'

/** The attributes of a send. Each is undefined if there are none: a message without any costs the store less. */
export interface SentAttributes {
  /** All of them, as the digest of the response covers them. */
  readonly all: Attributes | undefined
  /** Those of the sender. Only they are stored, and only they are limited to ten. */
  readonly own: Attributes | undefined
  /** Those that make the message a job. */
  readonly job: Attributes | undefined
}

const noAttributes: SentAttributes = { all: undefined, own: undefined, job: undefined }

export function readAttributes(wire: WireAttributes | undefined): SentAttributes {
  if (wire === undefined) return noAttributes
  const names = Object.keys(wire)
  if (names.length === 0) return noAttributes
  const jobNames = names.filter((name) => name.startsWith(jobAttributePrefix))
  const count = names.length - jobNames.length
  const { max } = limits.attributesPerMessage
  if (count > max) {
    throw invalidParameter(
      `Number of message attributes [${count}] exceeds the allowed maximum [${max}].`,
    )
  }
  const entries = Object.entries(wire).map(([name, attribute]) => {
    checkName(name)
    return [name, readAttribute('(user)', name, attribute)] as const
  })
  const all = Object.fromEntries(entries)
  if (jobNames.length === 0) return { all, own: all, job: undefined }
  const isOfJob = ([name]: readonly [string, unknown]): boolean => jobNames.includes(name)
  return {
    all,
    own: count === 0 ? undefined : Object.fromEntries(entries.filter((one) => !isOfJob(one))),
    job: Object.fromEntries(entries.filter(isOfJob)),
  }
}

/** The only system attribute that a sender may set, if present. */
export function readTraceHeader(wire: WireAttributes): string | undefined {
  let header: string | undefined
  for (const [name, attribute] of Object.entries(wire)) {
    if (name !== traceHeaderName) {
      throw invalidParameter(`Message system attribute name '${name}' is invalid.`)
    }
    const { type, value } = readAttribute('system', name, attribute)
    if (type !== 'String' || typeof value !== 'string') {
      throw invalidParameter(`The data type of message system attribute '${name}' must be String.`)
    }
    header = value
  }
  return header
}

export function writeAttributes(attributes: Attributes): WireAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { type, value }]) => [
      name,
      typeof value === 'string'
        ? { StringValue: value, DataType: type }
        : { BinaryValue: value, DataType: type },
    ]),
  )
}

const nameLengthMax = limits.attributeNameLength.max
const typeLengthMax = 256

function checkName(name: string): void {
  const refuse = (what: string): SqsError => invalidParameter(`Message (user) attribute ${what}`)
  if (name === '') {
    throw invalidParameter('The request must contain non-empty message (user) attribute names.')
  }
  if (name.length > nameLengthMax) throw refuse(`name must be shorter than ${nameLengthMax} bytes.`)
  if (name.toLowerCase().startsWith(jobAttributePrefix)) {
    checkJobName(name)
  } else if (reservedNamePattern.test(name)) {
    throw invalidParameter(
      "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are reserved for internal use.",
    )
  }
  if (name.startsWith('.')) throw refuse("name must not begin with character '.'.")
  if (name.endsWith('.')) throw refuse("name must not end with character '.'.")
  if (name.includes('..')) throw refuse("name must not have successive '.' characters.")
  if (!attributeNamePattern.test(name)) {
    throw refuse(
      'name can only contain upper and lower score characters, digits, periods, hyphens and underscores.',
    )
  }
}

const jobNamesOfSenders: readonly string[] = Object.values(sentJobAttributes)

function checkJobName(name: string): void {
  if (jobNamesOfSenders.includes(name)) return
  throw invalidParameter(
    `You can't use the message attribute name '${name}'. Names beginning with '${jobAttributePrefix}' are reserved; a sender may set only ${jobNamesOfSenders.join(', ')}.`,
  )
}

function readAttribute(kind: Kind, name: string, attribute: WireAttribute): MessageAttribute {
  const { DataType: type, StringValue: string, BinaryValue: bytes } = attribute
  if (attribute.StringListValues?.length || attribute.BinaryListValues?.length) {
    const message = 'Message attribute list values in SendMessage operation are not supported.'
    throw new SqsError('UnsupportedOperation', message)
  }
  const isEmpty = string === undefined && bytes === undefined
  if (type === undefined || type === '') {
    const missing = type === undefined && isEmpty ? 'value' : 'type'
    throw invalidParameter(
      `The message ${kind} attribute '${name}' must contain a non-empty message attribute ${missing}.`,
    )
  }
  checkType(kind, name, type)
  if (isEmpty || string === '' || bytes?.byteLength === 0) {
    throw invalidParameter(
      `Message ${kind} attribute '${name}' must contain a non-empty value of type '${type}'.`,
    )
  }
  if (string !== undefined && bytes !== undefined) {
    throw invalidParameter(`Message ${kind} attribute '${name}' must have a single value.`)
  }
  return { type, value: readValue(kind, name, type, string ?? bytes) }
}

function checkType(kind: Kind, name: string, type: string): void {
  if (type.length > typeLengthMax) {
    throw invalidParameter(
      `Message ${kind} attribute type must be shorter than ${typeLengthMax} bytes.`,
    )
  }
  if (/^(String|Number|Binary)(\.\S+)?$/.test(type)) return
  throw invalidParameter(
    `The type of message ${kind} attribute '${name}' is invalid. You must use only the following supported type prefixes: Binary, Number, String.`,
  )
}

function readValue(
  kind: Kind,
  name: string,
  type: string,
  value: string | Uint8Array | undefined,
): string | Uint8Array {
  const field = type.startsWith('Binary') ? 'Binary' : 'String'
  const isRight = field === 'Binary' ? value instanceof Uint8Array : typeof value === 'string'
  if (value === undefined || !isRight) {
    throw invalidParameter(
      `Message ${kind} attribute '${name}' with type '${type}' must use field '${field}'.`,
    )
  }
  if (typeof value === 'string') checkText(kind, name, type, value)
  return value
}

function checkText(kind: Kind, name: string, type: string, value: string): void {
  if (type.startsWith('Number') && !attributeNumberPattern.test(value)) {
    throw invalidParameter(
      `Can't cast the value of message ${kind} attribute '${name}' to a number.`,
    )
  }
  if (hasForbiddenCharacter(value)) {
    const where = `message ${kind} attribute '${name}' value`
    throw invalidParameter(describeForbiddenCharacter(value, where))
  }
}
