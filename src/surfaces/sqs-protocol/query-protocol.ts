/**
 * The Query protocol of older SDKs: the action and its members are parameters of a form or of the URL.
 * Responses are XML, or JSON on request.
 */
import { isUtf8 } from 'node:buffer'
import { parseQueuePath } from '../../sqs/queue-address.ts'
import { actions } from './actions/index.ts'
import { decodeBase64 } from './base64.ts'
import { isForm } from './content-types.ts'
import type { Call, Protocol, WireRequest } from './protocol.ts'
import { answerJson, failJson } from './query-json.ts'
import { type ParameterNode, parseParameters } from './query-parameters.ts'
import { answerXml, failXml } from './query-xml.ts'
import { otherService } from './refusals.ts'
import type { ListShape, MapShape, Members, Shape, StructureShape, Value } from './shapes.ts'
import { SqsError } from './sqs-error.ts'

export const queryProtocol: Protocol = { read: readCall, answer: answerXml, fail: failXml }

/** For `Accept: application/json`. */
export const queryProtocolInJson: Protocol = { read: readCall, answer: answerJson, fail: failJson }

function readCall({ method, path, query, headers, body }: WireRequest): Call {
  if (method !== 'GET' && method !== 'POST') throw unknownOperation()
  const parameters = parseParameters(formOf(headers['content-type'], body), query)
  const name = parameters.children.get('Action')?.value
  if (name === undefined) throw unknownOperation()
  const action = actions.get(name)
  if (action === undefined || (!action.onQueue && parseQueuePath(path) !== undefined)) {
    // Action names are short, so longer ones are cut.
    const shown = name.slice(0, 80)
    const version = parameters.children.get('Version')?.value ?? ''
    if (action === undefined && isOtherVersion(version)) throw otherService('InvalidAction', shown)
    throw new SqsError('InvalidAction', `The action ${shown} is not valid for this endpoint.`)
  }
  return { action, input: structureFrom(action.input, parameters) }
}

/** The API versions of SQS. Any other date belongs to another service. */
const versions = [
  '2012-11-05',
  '2011-10-01',
  '2009-02-01',
  '2008-01-01',
  '2007-05-01',
  '2006-04-01',
]

function isOtherVersion(version: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(version) && !versions.includes(version)
}

function unknownOperation(): SqsError {
  return new SqsError('UnknownOperationException', '')
}

function formOf(contentType: string | undefined, body: Buffer): string {
  if (body.length === 0) return ''
  if (contentType !== undefined && !isForm(contentType)) throw unknownOperation()
  if (!isUtf8(body)) throw malformed('The request is not valid UTF-8.')
  return body.toString()
}

function structureFrom(shape: StructureShape, node: ParameterNode): Members {
  const members: Record<string, Value> = {}
  for (const [name, memberShape] of shape.entries) {
    const value = memberFrom(memberShape, node, name)
    if (value !== undefined) members[name] = value
  }
  return members
}

function memberFrom(shape: Shape, node: ParameterNode, name: string): Value | undefined {
  switch (shape.kind) {
    case 'list':
      return listFrom(shape, node.children.get(shape.itemName))
    case 'map':
      return mapFrom(shape, node.children.get(shape.itemName))
    default: {
      const child = node.children.get(name)
      return child === undefined ? undefined : valueFrom(shape, child, name)
    }
  }
}

function listFrom(shape: ListShape, node: ParameterNode | undefined): Value | undefined {
  if (node === undefined) return undefined
  const values: Value[] = []
  for (const item of itemsOf(node)) {
    const value = valueFrom(shape.item, item, shape.itemName)
    if (value !== undefined) values.push(value)
  }
  return values
}

function mapFrom(shape: MapShape, node: ParameterNode | undefined): Value | undefined {
  if (node === undefined) return undefined
  const entries: [string, Value][] = []
  for (const item of itemsOf(node)) {
    const key = item.children.get(shape.keyName)?.value
    if (key === undefined) {
      const parameter = `${shape.itemName}.${shape.keyName}`
      const message = `The request must contain the parameter ${parameter}.`
      throw new SqsError('MissingRequiredParameterException', message)
    }
    const value = item.children.get('Value')
    const read = value === undefined ? undefined : valueFrom(shape.value, value, key)
    entries.push([key, read ?? (shape.value.kind === 'structure' ? {} : '')])
  }
  return Object.fromEntries(entries)
}

const number = /^\d{1,9}$/

/**
 * Items by number, starting at any number. A single item may have no number. For an empty list, SDKs send
 * only the name.
 */
function itemsOf(node: ParameterNode): readonly ParameterNode[] {
  if (node.children.size === 0 && node.value === '') return []
  const numbered = [...node.children].filter(([step]) => number.test(step))
  if (numbered.length === 0) return [node]
  return numbered.sort(([one], [other]) => Number(one) - Number(other)).map(([, item]) => item)
}

function valueFrom(shape: Shape, node: ParameterNode, name: string): Value | undefined {
  if (shape.kind === 'structure') return structureFrom(shape, node)
  const { value } = node
  if (value === undefined) return undefined
  switch (shape.kind) {
    case 'integer':
      return integerFrom(value, name)
    case 'boolean':
      return value.toLowerCase() === 'true'
    case 'blob':
      return blobFrom(value, name)
    default:
      return value
  }
}

const integer = /^[+-]?\d{1,15}$/

function integerFrom(text: string, name: string): number {
  if (integer.test(text)) return Number(text)
  throw malformed(`The parameter ${name} must be an integer.`)
}

function blobFrom(text: string, name: string): Uint8Array {
  const bytes = decodeBase64(text)
  if (bytes === undefined) throw malformed(`The parameter ${name} must be base64.`)
  return bytes
}

function malformed(message: string): SqsError {
  return new SqsError('SerializationException', message)
}
