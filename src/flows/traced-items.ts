/**
 * Items of collectors with the context of the span that added them. A batch merges items of many traces, so
 * the span that merges them is linked to each.
 */
import type { AddItems, CollectorStore, StagedItem } from '../backends/collector-store.ts'
import { traceCarrierOf } from '../core/trace-context.ts'
import { carrying, createdContext } from '../observability/traced-store.ts'
import { inSpan, type Traces } from '../observability/traces.ts'

export function tracedAdd(store: CollectorStore, traces: Traces | undefined): CollectorStore {
  if (traces === undefined) return store
  return {
    ...store,
    add: (request) =>
      inSpan(traces, { operation: 'send', destination: request.collector }, (span) =>
        store.add(withContext(request, span)),
      ),
  }
}

/** For an item that is staged in the commit of a handler. */
export function tracedItem(request: AddItems, traces: Traces | undefined): AddItems {
  if (traces === undefined) return request
  return withContext(request, createdContext(traces, { destination: request.collector }))
}

function withContext(request: AddItems, { carrier }: ReturnType<typeof createdContext>): AddItems {
  return { ...request, items: request.items.map((item) => carrying(item, carrier)) }
}

/** As many as SDKs keep by default. */
export const linksMax = 128

export function linkItems(traces: Traces | undefined, items: readonly StagedItem[]): void {
  if (traces === undefined) return
  const carriers = items.flatMap(
    ({ systemAttributes = {} }) => traceCarrierOf({ attributes: {}, systemAttributes }) ?? [],
  )
  traces.linkActive(carriers.slice(0, linksMax))
}
