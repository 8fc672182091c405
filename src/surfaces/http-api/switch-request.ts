/** Reads requests about kill switches. Checks their form; the store checks their limits. */
import type { SwitchMode } from '../../backends/switch-store.ts'
import type { Duration } from '../../core/durations.ts'
import {
  type SetSwitchOptions,
  type SwitchOn,
  switchModes,
  switchOn,
  switchScopes,
} from '../../operations/switches.ts'
import { ApiProblem } from './api-problem.ts'
import { type FieldKinds, readFields } from './read-fields.ts'

export interface SetSwitchRequest {
  readonly mode: SwitchMode
  readonly options: Omit<SetSwitchOptions, 'by'>
}

const fields: FieldKinds = { mode: 'text', note: 'text', for: 'text' }

/** The fields, after `readFields` has checked their types. */
interface Fields {
  readonly mode?: string
  readonly note?: string
  readonly for?: Duration
}

export function readSetSwitch(body: unknown): SetSwitchRequest {
  const { mode: given, ...options }: Fields = readFields(body, fields)
  const mode = switchModes.find((one) => one === given)
  if (mode !== undefined) return { mode, options }
  throw ApiProblem.invalid({ field: 'mode', expected: `one of ${switchModes.join(', ')}` })
}

/** Reads the end of a path, such as `queue/basic`. */
export function readTarget(address: { readonly scope: string; readonly value: string }): SwitchOn {
  const scope = switchScopes.find((one) => one === address.scope)
  if (scope !== undefined) return switchOn(scope, address.value)
  throw ApiProblem.invalid({ field: 'scope', expected: `one of ${switchScopes.join(', ')}` })
}
