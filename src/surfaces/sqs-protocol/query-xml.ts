/** Formats responses of the Query protocol as XML, by their shape. */
import type { Action } from './action.ts'
import { type Failure, faultOf } from './failure.ts'
import type { Reply } from './protocol.ts'
import type { Members, Shape, StructureShape, Value } from './shapes.ts'

const contentType = 'text/xml'
const declaration = '<?xml version="1.0"?>'
const namespace = 'xmlns="http://queue.amazonaws.com/doc/2012-11-05/"'

export function answerXml({ name, output: shape }: Action, output: Members, id: string): Reply {
  const metadata = `<ResponseMetadata><RequestId>${id}</RequestId></ResponseMetadata>`
  const result = shape === null ? '' : element(`${name}Result`, structureXml(shape, output))
  const body = `${declaration}<${name}Response ${namespace}>${result}${metadata}</${name}Response>`
  return { status: 200, contentType, body }
}

export function failXml(failure: Failure, id: string): Reply {
  const { queryCode, queryMessage, status } = failure
  // AWS sends this response to an unknown action and to a request without one.
  if (queryCode === 'UnknownOperationException') {
    return { status: 404, contentType, body: '<UnknownOperationException/>' }
  }
  const error =
    element('Type', faultOf(failure)) +
    element('Code', queryCode) +
    element('Message', escapeXml(queryMessage)) +
    '<Detail/>'
  const body =
    `${declaration}<ErrorResponse ${namespace}>` +
    `${element('Error', error)}${element('RequestId', id)}</ErrorResponse>`
  return { status, contentType, body }
}

function structureXml(shape: StructureShape, members: Members): string {
  let xml = ''
  for (const [name, memberShape] of shape.entries) {
    const value = members[name]
    if (value !== undefined) xml += memberXml(name, memberShape, value)
  }
  return xml
}

function memberXml(name: string, shape: Shape, value: Value): string {
  switch (shape.kind) {
    case 'list':
      return (value as readonly Value[])
        .map((item) => element(shape.itemName, valueXml(shape.item, item)))
        .join('')
    case 'map':
      return Object.entries(value as Members)
        .map(([key, item]) =>
          element(
            shape.itemName,
            element(shape.keyName, escapeXml(key)) +
              element('Value', valueXml(shape.value, item ?? '')),
          ),
        )
        .join('')
    default:
      return element(name, valueXml(shape, value))
  }
}

function valueXml(shape: Shape, value: Value): string {
  if (shape.kind === 'structure') return structureXml(shape, value as Members)
  if (shape.kind === 'blob') return Buffer.from(value as Uint8Array).toString('base64')
  return escapeXml(String(value))
}

function element(name: string, content: string): string {
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`
}

/** A carriage return is written as a reference, because parsers convert it to a line feed. */
const special = /[&<>"'\r]/g
const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\r': '&#xD;',
}
/** Characters that XML 1.0 cannot contain, not even as references. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters in question
const impossible = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu

export function escapeXml(text: string): string {
  return text
    .replace(special, (character) => references[character] ?? character)
    .replace(impossible, '\ufffd')
}
