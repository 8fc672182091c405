/** Paths in a message that lead to a value by which a limit can count. */

type Countable = string | number | boolean

/** How far paths are followed: a message may contain itself. */
interface Deeper {
  readonly 4: 3
  readonly 3: 2
  readonly 2: 1
  readonly 1: 0
  readonly 0: 0
}

/** `'customer.id'` for `{ customer: { id: string } }`; any text where the type of the message is not known. */
export type KeyPath<Message, Depth extends keyof Deeper = 4> = unknown extends Message
  ? string
  : Message extends readonly unknown[]
    ? never
    : Message extends object
      ? {
          [Name in keyof Message & string]: PathAt<Name, Message[Name], Depth>
        }[keyof Message & string]
      : never

type PathAt<Name extends string, Value, Depth extends keyof Deeper> = unknown extends Value
  ? Name | `${Name}.${string}`
  : Value extends Countable
    ? Name
    : Depth extends 0
      ? never
      : `${Name}.${KeyPath<Value, Deeper[Depth]>}`
