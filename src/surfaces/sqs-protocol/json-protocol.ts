/**
 * The AWS JSON 1.0 protocol of current SDKs: the action is in a header, its members are a JSON object. Types
 * are checked against the shape of the action. Members that the shape does not have are ignored.
 */
import { isUtf8 } from 'node:buffer'
import type { Action } from './action.ts'
import { actions } from './actions/index.ts'
import { decodeBase64 } from './base64.ts'
import { type Failure, faultOf } from './failure.ts'
import { structureText } from './json-text.ts'
import type { Call, Protocol, Reply, WireRequest } from './protocol.ts'
import type { Members, Shape, StructureShape, Value } from './shapes.ts'
import { SqsError } from './sqs-error.ts'

const contentType = 'application/x-amz-json-1.0'
const targetPrefix = 'AmazonSQS.'

export const jsonProtocol: Protocol = {
  read: (request) => readCall(request),
  answer: (action, output) => answer(action, output),
  fail: (failure) => fail(failure),
}

function readCall({ method, headers, body }: WireRequest): Call {
  const target = headers['x-amz-target']
  const action =
    typeof target === 'string' && target.startsWith(targetPrefix)
      ? actions.get(target.slice(targetPrefix.length))
      : undefined
  if (action === undefined || method !== 'POST') {
    throw new SqsError('UnknownOperationException', '')
  }
  return { action, input: readInput(action.input, body) }
}

function readInput(shape: StructureShape, body: Buffer): Members {
  if (body.length === 0) return {}
  if (!isUtf8(body)) throw unreadable('The request is not valid UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch {
    throw unreadable('The request is not valid JSON.')
  }
  return structureFrom(shape, value)
}

/** Checks and replaces members in place, because the parsed object belongs to this request. */
function structureFrom(shape: StructureShape, value: unknown): Members {
  const members = recordFrom(value, 'structure')
  for (const [name, shapeOfMember] of shape.entries) {
    const member = members[name]
    if (member === undefined) continue
    members[name] = member === null ? undefined : valueFrom(shapeOfMember, member)
  }
  // All members of the shape now have its types; other members are never read.
  return members as Members
}

function valueFrom(shape: Shape, value: unknown): Value {
  switch (shape.kind) {
    case 'string':
      if (typeof value === 'string') return value
      throw mismatch(value, 'a String')
    case 'integer':
      if (typeof value === 'number' && Number.isSafeInteger(value)) return value
      throw mismatch(value, 'an Integer')
    case 'boolean':
      if (typeof value === 'boolean') return value
      throw mismatch(value, 'a Boolean')
    case 'blob':
      if (typeof value === 'string') return blobFrom(value)
      throw mismatch(value, 'a Blob')
    case 'structure':
      return structureFrom(shape, value)
    case 'list':
      if (!Array.isArray(value)) throw mismatch(value, 'a list')
      return value.filter((item) => item !== null).map((item) => valueFrom(shape.item, item))
    case 'map': {
      const entries = Object.entries(recordFrom(value, 'map'))
      return Object.fromEntries(
        entries
          .filter(([, item]) => item !== null)
          .map(([key, item]) => [key, valueFrom(shape.value, item)]),
      )
    }
  }
}

function recordFrom(value: unknown, expected: 'structure' | 'map'): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    // In JSON, every other object is a record.
    return value as Record<string, unknown>
  }
  throw mismatch(value, `a ${expected}`)
}

function blobFrom(text: string): Uint8Array {
  const bytes = decodeBase64(text)
  if (bytes === undefined) throw unreadable('A Blob is not valid base64.')
  return bytes
}

/** The error texts of AWS. */
function mismatch(value: unknown, expected: string): SqsError {
  if (Array.isArray(value)) return unreadable('Start of list found where not expected')
  if (typeof value === 'object' && value !== null) {
    return unreadable('Start of structure or map found where not expected.')
  }
  return unreadable(`${kindOf(value)} can not be converted to ${expected}`)
}

function kindOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'TRUE_VALUE' : 'FALSE_VALUE'
  if (value === null) return 'NULL_VALUE'
  return typeof value === 'number' ? 'NUMBER_VALUE' : 'STRING_VALUE'
}

function unreadable(message: string): SqsError {
  return new SqsError('SerializationException', message)
}

function answer({ output: shape }: Action, output: Members): Reply {
  const body = shape === null ? '{}' : structureText(shape, output)
  return { status: 200, contentType, body }
}

function fail(failure: Failure): Reply {
  const { type, status, message, queryCode, byService } = failure
  const body = JSON.stringify(message === '' ? { __type: type } : { __type: type, message })
  const reply = { status, contentType, body }
  return byService ? { ...reply, queryError: `${queryCode};${faultOf(failure)}` } : reply
}
