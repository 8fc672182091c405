/** Turns kill switches on and off, and records who did it. */

import type { Backend, Page } from '../backends/backend.ts'
import type {
  SwitchEvent,
  SwitchMode,
  SwitchRecord,
  SwitchScope,
  SwitchTarget,
} from '../backends/switch-store.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, pageOptions, refuseUnknownOptions } from '../core/options.ts'
import { supported } from '../core/supported.ts'

/** The target of a switch: exactly one of these. */
export type SwitchOn =
  /** The key of a queue. */
  | { readonly queue: string }
  | { readonly type: string }
  | { readonly tier: string }
  | { readonly tenant: string }
  /** A switch name that queues or job types declare with `obeys`. */
  | { readonly name: string }

export const switchScopes: readonly SwitchScope[] = ['queue', 'type', 'tier', 'tenant', 'name']
export const switchModes: readonly SwitchMode[] = ['hold', 'divert']

/** Builds a target from a scope and a value, as in paths and flags. */
export function switchOn(scope: SwitchScope, value: string): SwitchOn {
  // The scope is one of the five keys, but the compiler widens a computed key.
  return { [scope]: value } as unknown as SwitchOn
}

export interface SwitchOptions {
  /** The person or program, for the history. */
  readonly by: string
  readonly note?: string
}

export interface SetSwitchOptions extends SwitchOptions {
  /** The switch ends after this time. Default: it stays on until it is lifted. */
  readonly for?: Duration
}

/** A switch that is on. `environment`: only this process has it on. */
export interface ActiveSwitch extends SwitchRecord {
  readonly source: 'store' | 'environment'
}

export interface Switches {
  /** Matching work stays in its queue, without using an attempt. */
  hold(on: SwitchOn, options: SetSwitchOptions): Promise<SwitchRecord>
  /** Matching work goes to its dead-letter queue when its turn comes. */
  divert(on: SwitchOn, options: SetSwitchOptions): Promise<SwitchRecord>
  /** Resolves with false if the switch was not on. */
  lift(on: SwitchOn, options: SwitchOptions): Promise<boolean>
  list(): Promise<readonly ActiveSwitch[]>
  /** Who turned which switches on and off, newest first. */
  history(options?: {
    readonly limit?: number
    readonly after?: string
  }): Promise<Page<SwitchEvent>>
}

const liftOptions: OptionNames<SwitchOptions> = { by: true, note: true }
const setOptions: OptionNames<SetSwitchOptions> = { ...liftOptions, for: true }

export interface SwitchesSetup {
  readonly backend: Pick<Backend, 'switches'>
  /** Queues that a switch may name. Default: all queues of the store, by name. */
  readonly queues?: readonly NamedQueue[]
  /** Switch names that the environment of this process turns on. */
  readonly heldNames?: readonly string[]
}

export function createSwitches({ backend, queues, heldNames = [] }: SwitchesSetup): Switches {
  const set = async (
    mode: SwitchMode,
    on: SwitchOn,
    options: SetSwitchOptions,
  ): Promise<SwitchRecord> => {
    refuseUnknownOptions(options, setOptions)
    const { by, note, for: lasting } = options
    return supported(backend.switches).set({
      ...targetOf(on, queues),
      mode,
      by,
      ...(note !== undefined && { note }),
      ...(lasting !== undefined && { forMs: durationMs(lasting, 'for', limits.switchMs) }),
    })
  }
  return {
    hold: async (on, options) => set('hold', on, options),
    divert: async (on, options) => set('divert', on, options),
    lift: async (on, options) => {
      refuseUnknownOptions(options, liftOptions)
      const { by, note } = options
      return supported(backend.switches).lift({
        ...targetOf(on, queues),
        by,
        ...(note !== undefined && { note }),
      })
    },
    list: async () => {
      const stored = await supported(backend.switches).list()
      return [
        ...stored.map((record): ActiveSwitch => ({ ...record, source: 'store' })),
        ...heldNames.map(fromEnvironment),
      ]
    },
    history: async (options = {}) => {
      refuseUnknownOptions(options, pageOptions)
      const { limit = 100, after } = options
      return supported(backend.switches).history({ limit, ...(after !== undefined && { after }) })
    },
  }
}

function targetOf(on: SwitchOn, queues: SwitchesSetup['queues']): SwitchTarget {
  const entries = Object.entries(on).filter(([, value]) => value !== undefined)
  const [entry, ...others] = entries
  const scope = switchScopes.find((one) => one === entry?.[0])
  const value: unknown = entry?.[1]
  if (scope === undefined || others.length > 0 || typeof value !== 'string') {
    const allowed = `exactly one of ${switchScopes.join(', ')}, with a string`
    throw MillraceError.invalid([{ field: 'switch', given: 'an invalid value', allowed }])
  }
  if (scope !== 'queue' || queues === undefined) return { scope, value }
  const queue = queues.find(({ key, name }) => key === value || name === value)
  if (queue === undefined) throw new MillraceError('queue_not_found')
  return { scope, value: queue.name }
}

function fromEnvironment(name: string): ActiveSwitch {
  return {
    scope: 'name',
    value: name,
    mode: 'hold',
    by: 'environment',
    note: null,
    setAt: 0,
    until: null,
    source: 'environment',
  }
}
