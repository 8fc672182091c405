/**
 * The shapes of requests and responses, as data. Both protocols use one description per action: to check JSON
 * types, to collect numbered Query parameters, and to write XML.
 */
export type Shape = ScalarShape | ListShape | MapShape | StructureShape

export interface ScalarShape {
  /** A `blob` is base64 in the protocols and bytes in code. */
  readonly kind: 'string' | 'integer' | 'boolean' | 'blob'
}

/** In Query: `AttributeName.1`, `AttributeName.2`; in XML one element of that name for each. */
export interface ListShape<Item extends Shape = Shape> {
  readonly kind: 'list'
  readonly item: Item
  /** The name of one item in Query and XML. */
  readonly itemName: string
}

/** In Query: `Attribute.1.Name`, `Attribute.1.Value`; in XML an element with those two in it. */
export interface MapShape<Value extends Shape = Shape> {
  readonly kind: 'map'
  readonly value: Value
  readonly itemName: string
  readonly keyName: 'Name' | 'Key'
}

export interface StructureShape<Members extends ShapeMembers = ShapeMembers> {
  readonly kind: 'structure'
  readonly members: Members
  /** The members as a list, which is faster to iterate for every request. */
  readonly entries: readonly (readonly [name: string, shape: Shape])[]
}

export type ShapeMembers = Readonly<Record<string, Shape>>

/** The type of a shape's value. Any member may be missing; the action checks which ones are required. */
export type ValueOf<Described extends Shape> = Shape extends Described
  ? Value
  : Described extends ScalarShape
    ? ScalarOf<Described['kind']>
    : Described extends ListShape<infer Item>
      ? readonly ValueOf<Item>[]
      : Described extends MapShape<infer Item>
        ? Readonly<Record<string, ValueOf<Item>>>
        : Described extends StructureShape<infer Known>
          ? MembersOf<Known>
          : never

type MembersOf<Known extends ShapeMembers> = string extends keyof Known
  ? Members
  : { readonly [Name in keyof Known]?: ValueOf<Known[Name]> | undefined }

/** The value of any shape, for code that reads shapes as data. */
export type Value =
  | string
  | number
  | boolean
  | Uint8Array
  | readonly Value[]
  | { readonly [name: string]: Value | undefined }

/** The value of any structure. */
export interface Members {
  readonly [name: string]: Value | undefined
}

type ScalarOf<Kind extends ScalarShape['kind']> = {
  string: string
  integer: number
  boolean: boolean
  blob: Uint8Array
}[Kind]

export const text: { readonly kind: 'string' } = { kind: 'string' }
export const integer: { readonly kind: 'integer' } = { kind: 'integer' }
export const boolean: { readonly kind: 'boolean' } = { kind: 'boolean' }
export const blob: { readonly kind: 'blob' } = { kind: 'blob' }

export function listOf<Item extends Shape>(itemName: string, item: Item): ListShape<Item> {
  return { kind: 'list', item, itemName }
}

export function mapOf<Value extends Shape>(
  itemName: string,
  keyName: 'Name' | 'Key',
  value: Value,
): MapShape<Value> {
  return { kind: 'map', value, itemName, keyName }
}

export function structure<const Members extends ShapeMembers>(
  members: Members,
): StructureShape<Members> {
  return { kind: 'structure', members, entries: Object.entries(members) }
}
