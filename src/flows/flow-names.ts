/** The flows and chains of an app with their names in the store. */
import type { UnitKey } from '../backends/flow-store.ts'
import type { DeclaredChain } from '../contracts/chain-declaration.ts'
import type { DeclaredFlowParts } from '../contracts/define-app.ts'
import type { DeclaredFlow } from '../contracts/flow-declaration.ts'
import { type NameScope, scopedName } from '../contracts/resolve-names.ts'
import { describeGiven } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { UnitFacts } from './flow-types.ts'

export interface Named<Declared> {
  readonly key: string
  /** The name in the store. */
  readonly name: string
  readonly declared: Declared
}

export type NamedFlow = Named<DeclaredFlow>
export type NamedChain = Named<DeclaredChain>

export class FlowNames {
  readonly flows: readonly NamedFlow[]
  readonly chains: readonly NamedChain[]
  readonly #keys: ReadonlyMap<string, string>

  constructor({ flows = {}, chains = {} }: DeclaredFlowParts, scope: NameScope) {
    this.flows = named(flows, scope)
    this.chains = named(chains, scope)
    this.#keys = new Map([...this.flows, ...this.chains].map(({ key, name }) => [name, key]))
  }

  flow(key: string): NamedFlow {
    return required('flow', key, this.flows)
  }

  chain(key: string): NamedChain {
    return required('chain', key, this.chains)
  }

  /** Undefined if the unit belongs to no chain of this app. */
  chainOf({ flow }: UnitKey): NamedChain | undefined {
    return this.chains.find(({ name }) => name === flow)
  }

  /** Converts a unit to the names of the app. */
  factsOf({ flow, id, unit }: UnitKey): UnitFacts {
    return { flow: this.#keys.get(flow) ?? flow, id, unit }
  }

  /** Converts a unit to the names in the store. */
  unitOf({ flow, id, unit }: UnitFacts): UnitKey {
    return { flow: this.flow(flow).name, id, unit }
  }
}

function named<Declared>(
  parts: Readonly<Record<string, Declared>>,
  scope: NameScope,
): readonly Named<Declared>[] {
  return Object.entries(parts).map(([key, declared]) => ({
    key,
    name: scopedName(key, scope),
    declared,
  }))
}

function required<Declared>(
  field: 'flow' | 'chain',
  key: string,
  all: readonly Named<Declared>[],
): Named<Declared> {
  const found = all.find((one) => one.key === key)
  if (found !== undefined) return found
  const keys = all.map((one) => one.key)
  const allowed =
    keys.length === 0
      ? `an app that declares ${field}s`
      : `one of ${keys.join(', ')}${didYouMean(String(key), keys)}`
  throw MillraceError.invalid([{ field, given: describeGiven(key), allowed }])
}
