/** The attributes that a receiver requests. Default: none. */
import type { MessageAttribute } from '../../../core/message.ts'
import { type SystemAttributeName, systemAttributeNames } from '../../../sqs/system-attributes.ts'

type Attributes = Readonly<Record<string, MessageAttribute>>

const everything: ReadonlySet<string> = new Set(['All', '*', '.*'])
const anythingBehind = '.*'

/** Returns a function that selects attributes: by name, by `prefix.*`, or all of them. */
export function attributeFilter(
  names: readonly string[] | undefined,
): ((attributes: Attributes) => Attributes) | undefined {
  if (names === undefined || names.length === 0) return undefined
  if (names.some((name) => everything.has(name))) return (attributes) => attributes
  const exact = new Set(names)
  const prefixes = names
    .filter((name) => name.endsWith(anythingBehind))
    .map((name) => name.slice(0, -anythingBehind.length))
  const isWanted = (name: string): boolean =>
    exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
  return (attributes) =>
    Object.fromEntries(Object.entries(attributes).filter(([name]) => isWanted(name)))
}

/** Ignores names that are not message attributes, because SQS accepts names of queue attributes here. */
export function wantedSystemAttributes(
  ...lists: readonly (readonly string[] | undefined)[]
): readonly SystemAttributeName[] | undefined {
  const names = new Set(lists.flatMap((list) => list ?? []))
  if (names.size === 0) return undefined
  if (names.has('All')) return systemAttributeNames
  return systemAttributeNames.filter((name) => names.has(name))
}
