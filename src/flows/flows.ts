/** The flows and chains of an open app, by the keys of their declaration. */

import type { Backend } from '../backends/backend.ts'
import type { FlowStore } from '../backends/flow-store.ts'
import type { DeclaredFlowParts, DeclaredQueues } from '../contracts/define-app.ts'
import type { NamedQueue, NameScope } from '../contracts/resolve-names.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { supported } from '../core/supported.ts'
import type { Emitter } from '../jobs/emitter.ts'
import type { Traces } from '../observability/traces.ts'
import { type ChainHandle, createChainHandle } from './chain-handle.ts'
import type { ChainSetup } from './chain-steps.ts'
import { createFlowEmits, type FlowEmits } from './emitted-flows.ts'
import { createFlowHandle, type FlowHandle } from './flow-handle.ts'
import { FlowNames } from './flow-names.ts'
import type { ChainAt, ChainName, FlowAt, FlowName } from './flow-types.ts'
import { tracedChain, tracedFlow } from './traced-flows.ts'

export type FlowHandles<Queues extends DeclaredQueues, Parts> = {
  readonly [Name in FlowName<Parts>]: FlowHandle<Queues, Parts, FlowAt<Parts, Name>>
}

export type ChainHandles<Queues extends DeclaredQueues, Parts> = {
  readonly [Name in ChainName<Parts>]: ChainHandle<Queues, Parts, ChainAt<Parts, Name>>
}

export interface Flows<Queues extends DeclaredQueues, Parts> {
  readonly flows: FlowHandles<Queues, Parts>
  readonly chains: ChainHandles<Queues, Parts>
  /** For the contexts of handlers. */
  readonly emits: FlowEmits
}

export interface FlowsSetup {
  readonly app: DeclaredFlowParts
  readonly scope: NameScope
  readonly backend: Pick<Backend, 'flows'>
  readonly emitter: Emitter
  readonly queues: readonly NamedQueue[]
  readonly traces?: Traces | undefined
}

/** Refuses an app with flows or chains on a backend that does not support them. */
export function refuseFlows(
  { flows = {}, chains = {} }: DeclaredFlowParts,
  { capabilities, flows: store }: Pick<Backend, 'capabilities' | 'flows'>,
): void {
  if (capabilities.flows && store !== null) return
  const allowed = `no flows or chains: the backend ${capabilities.name} does not support them`
  const violations = [
    ...Object.keys(flows).map((key) => ({ field: `flows.${key}`, given: 'a flow', allowed })),
    ...Object.keys(chains).map((key) => ({ field: `chains.${key}`, given: 'a chain', allowed })),
  ]
  if (violations.length > 0) throw MillraceError.invalid(violations, 'unsupported')
}

export function createFlows<Queues extends DeclaredQueues, Parts>(
  setup: FlowsSetup,
): Flows<Queues, Parts> {
  const { app, scope, backend, emitter, queues, traces } = setup
  const names = new FlowNames(app, scope)
  const store = (): FlowStore => supported(backend.flows)
  const parts: ChainSetup = { names, emitter, store }
  const queueName = (key = ''): string => queues.find((one) => one.key === key)?.name ?? key
  const flows = names.flows.map((one) => {
    const units = queueName(one.declared.options.units)
    return [one.key, tracedFlow(createFlowHandle(parts, one), traces, units)]
  })
  const chains = names.chains.map((one) => {
    const first = queueName(one.declared.options.steps[0]?.queue)
    return [one.key, tracedChain(createChainHandle(parts, one), traces, first)]
  })
  // The handles have the keys of this app. The cast only adds the types of their messages.
  return {
    flows: Object.freeze(Object.fromEntries(flows)) as FlowHandles<Queues, Parts>,
    chains: Object.freeze(Object.fromEntries(chains)) as ChainHandles<Queues, Parts>,
    emits: createFlowEmits(parts),
  }
}
