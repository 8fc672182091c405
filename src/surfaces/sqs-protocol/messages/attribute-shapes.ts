/** The shapes of message attributes in both protocols. */
import {
  blob,
  type ListShape,
  listOf,
  type MapShape,
  mapOf,
  type StructureShape,
  structure,
  text,
  type ValueOf,
} from '../shapes.ts'

type AttributeShape = StructureShape<{
  readonly DataType: typeof text
  readonly StringValue: typeof text
  readonly BinaryValue: typeof blob
  readonly StringListValues: ListShape<typeof text>
  readonly BinaryListValues: ListShape<typeof blob>
}>

const attribute: AttributeShape = structure({
  DataType: text,
  StringValue: text,
  BinaryValue: blob,
  StringListValues: listOf('StringListValue', text),
  BinaryListValues: listOf('BinaryListValue', blob),
})

export type AttributeMapShape = MapShape<AttributeShape>
export type WireAttribute = ValueOf<AttributeShape>
export type WireAttributes = ValueOf<AttributeMapShape>

export const messageAttributes: AttributeMapShape = mapOf('MessageAttribute', 'Name', attribute)
export const messageSystemAttributes: AttributeMapShape = mapOf(
  'MessageSystemAttribute',
  'Name',
  attribute,
)
