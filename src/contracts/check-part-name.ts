/** Checks the key of a flow, a collector or another part of an app, and its name in the store. */
import { checkLength, describeGiven, type Violations } from '../core/checks.ts'
import type { Range } from '../core/limits.ts'
import { type NameScope, scopedName } from './resolve-names.ts'

export const partKeyPattern: RegExp = /^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$/
export const partKeyForm = 'letters, digits, and _ or - between them'

export interface NamedPart {
  readonly field: string
  readonly key: string
  readonly scope: NameScope
  /** The allowed length of the name in the store. */
  readonly length: Range
  /** The field that uses each name so far. */
  readonly owners: Map<string, string>
}

export function checkPartName(into: Violations, part: NamedPart): void {
  const { field, key, scope, length, owners } = part
  if (!partKeyPattern.test(key)) {
    into.push({ field, given: describeGiven(key), allowed: partKeyForm })
    return
  }
  const name = scopedName(key, scope)
  checkLength(into, field, name, length)
  const owner = owners.get(name)
  if (owner === undefined) {
    owners.set(name, field)
    return
  }
  const allowed = `a unique name; ${owner} already has it`
  into.push({ field, given: describeGiven(name), allowed })
}
