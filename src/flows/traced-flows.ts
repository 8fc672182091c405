/**
 * Opens flows and starts chains in a span, so that the messages of all units and of the end belong to one
 * trace.
 */
import { inSpan, type SpanAttributes, type Traces } from '../observability/traces.ts'
import type { UntypedChainHandle } from './chain-handle.ts'
import type { UntypedFlowHandle } from './flow-handle.ts'

/** Sends each of these calls in a span of its own. */
type Sending = <T>(id: string, work: () => Promise<T>) => Promise<T>

export function tracedFlow(
  flow: UntypedFlowHandle,
  traces: Traces | undefined,
  queue: string,
): UntypedFlowHandle {
  if (traces === undefined) return flow
  const sending = sendingTo(traces, queue, flow.name)
  return {
    ...flow,
    open: (id, opening) => sending(id, () => flow.open(id, opening)),
    add: (id, units, options) => sending(id, () => flow.add(id, units, options)),
    resume: (id, unit, work) => sending(id, () => flow.resume(id, unit, work)),
  }
}

export function tracedChain(
  chain: UntypedChainHandle,
  traces: Traces | undefined,
  queue: string,
): UntypedChainHandle {
  if (traces === undefined) return chain
  const sending = sendingTo(traces, queue, chain.name)
  return {
    ...chain,
    start: (id, payload, options) => sending(id, () => chain.start(id, payload, options)),
    resume: (id, options) => sending(id, () => chain.resume(id, options)),
  }
}

function sendingTo(traces: Traces, destination: string, flow: string): Sending {
  return (id, work) => {
    const attributes = flowAttributes({ flow, id })
    return inSpan(traces, { operation: 'send', destination, isCreated: true, attributes }, work)
  }
}

/** The attributes of spans that belong to a flow or a chain. */
export function flowAttributes(about: {
  readonly flow: string
  readonly id: string
  readonly unit?: string
}): SpanAttributes {
  return {
    'millrace.flow.name': about.flow,
    'millrace.flow.id': about.id,
    'millrace.flow.unit': about.unit,
  }
}
