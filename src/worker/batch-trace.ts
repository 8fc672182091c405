/** The span of a batch: active while its handler runs, with a link to the span that created each item. */
import type { SettleResult } from '../backends/backend.ts'
import { traceCarrierOf } from '../core/trace-context.ts'
import { linksMax } from '../flows/traced-items.ts'
import { failureOf, inSpan, type TraceSpan, type Traces } from '../observability/traces.ts'
import type { Claimed } from './claims-ahead.ts'

/** Runs a batch in its span. The batch ends the span. */
export function traceBatch(
  traces: Traces,
  items: readonly Claimed[],
  run: (trace: BatchTrace) => Promise<void>,
): Promise<void> {
  const [first] = items
  const destination = first?.source.setup.name ?? ''
  const type = first?.delivery.job?.type
  const span = traces.start({
    operation: 'process',
    destination,
    attributes: {
      'messaging.batch.message_count': items.length,
      ...(type !== undefined && { 'millrace.job.type': type }),
    },
    parent: 'root',
    links: items.flatMap(({ delivery }) => traceCarrierOf(delivery) ?? []).slice(0, linksMax),
  })
  return span.run(() => run(new BatchTrace(traces, span, destination)))
}

export class BatchTrace {
  readonly #traces: Traces
  readonly #span: TraceSpan
  readonly #destination: string

  constructor(traces: Traces, span: TraceSpan, destination: string) {
    this.#traces = traces
    this.#span = span
    this.#destination = destination
  }

  /** @param message a safe summary of the error */
  threw(error: unknown, message: string): void {
    this.#span.fail(failureOf(error, message))
  }

  end(): void {
    this.#span.end()
  }

  /** What a freed slot starts is not part of this batch. */
  detached(run: () => void): () => void {
    return () => this.#traces.detached(run)
  }

  /** Calls `settle` in the span of the settlement, which ends with it. */
  settle(
    count: number,
    settle: () => readonly Promise<SettleResult>[],
  ): readonly Promise<SettleResult>[] {
    const attributes = { 'messaging.batch.message_count': count }
    const request = { operation: 'settle', destination: this.#destination, attributes } as const
    let results: readonly Promise<SettleResult>[] = []
    void inSpan(this.#traces, request, () => {
      results = settle()
      return Promise.allSettled(results)
    })
    return results
  }
}
