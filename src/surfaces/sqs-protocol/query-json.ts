/**
 * Responses of the Query protocol as JSON, for `Accept: application/json`. The fields have the names of the
 * XML elements; a repeated element becomes a list.
 */
import type { Action } from './action.ts'
import { type Failure, faultOf } from './failure.ts'
import type { Reply } from './protocol.ts'
import { failXml } from './query-xml.ts'
import type { Members, Shape, StructureShape, Value } from './shapes.ts'

const contentType = 'application/json'

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

export function answerJson({ name, output: shape }: Action, output: Members, id: string): Reply {
  const result = shape === null ? {} : { [`${name}Result`]: structureJson(shape, output) }
  const document = { [`${name}Response`]: { ...result, ResponseMetadata: { RequestId: id } } }
  return { status: 200, contentType, body: JSON.stringify(document) }
}

export function failJson(failure: Failure, id: string): Reply {
  const { queryCode, queryMessage, status } = failure
  if (queryCode === 'UnknownOperationException') return failXml(failure, id)
  const error = { Code: queryCode, Detail: null, Message: queryMessage, Type: faultOf(failure) }
  return { status, contentType, body: JSON.stringify({ Error: error, RequestId: id }) }
}

/** Lists with other names in JSON. */
const namesInJson: Readonly<Record<string, string>> = {
  Messages: 'messages',
  QueueUrls: 'queueUrls',
}

/** Missing members and empty lists are null. */
function structureJson(shape: StructureShape, members: Members): Json {
  return Object.fromEntries(
    shape.entries.map(([name, memberShape]) => {
      const value = members[name]
      return [namesInJson[name] ?? name, value === undefined ? null : valueJson(memberShape, value)]
    }),
  )
}

function valueJson(shape: Shape, value: Value): Json {
  switch (shape.kind) {
    case 'structure':
      return structureJson(shape, value as Members)
    case 'list':
      return orNull((value as readonly Value[]).map((item) => valueJson(shape.item, item)))
    case 'map':
      return orNull(
        Object.entries(value as Members).map(([key, item]) => ({
          [shape.keyName]: key,
          Value: valueJson(shape.value, item ?? ''),
        })),
      )
    case 'blob':
      return Buffer.from(value as Uint8Array).toString('base64')
    default:
      return value as string | number | boolean
  }
}

function orNull(list: readonly Json[]): Json {
  return list.length === 0 ? null : list
}
