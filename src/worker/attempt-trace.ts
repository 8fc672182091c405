/**
 * The span of one attempt, from its start to its settlement. It is active while the handler runs, so spans
 * of the handler and all that it emits continue it. It continues the span that created the message.
 */
import type { Delivery, Outcome, SettleResult } from '../backends/backend.ts'
import { traceCarrierOf } from '../core/trace-context.ts'
import { flowAttributes } from '../flows/traced-flows.ts'
import { noteUnsettled } from '../observability/traced-store.ts'
import { failureOf, inSpan, type TraceSpan, type Traces } from '../observability/traces.ts'
import type { EventDetails } from './attempt-facts.ts'
import type { Claimed } from './claims-ahead.ts'
import type { WorkerEventName } from './worker-event.ts'

/** Runs an attempt in its span. The attempt ends the span before it counts as settled. */
export function traceAttempt(
  traces: Traces,
  { source, delivery }: Claimed,
  run: (trace: AttemptTrace) => Promise<void>,
): Promise<void> {
  const destination = source.setup.name
  const carrier = traceCarrierOf(delivery)
  const span = traces.start({
    operation: 'process',
    destination,
    attributes: attributesOf(delivery),
    parent: carrier ?? 'root',
    ...(carrier !== undefined && { links: [carrier] }),
  })
  return span.run(() => run(new AttemptTrace(traces, span, destination)))
}

function attributesOf({ id, receiveCount, job, unit }: Delivery): Parameters<TraceSpan['set']>[0] {
  return {
    'messaging.message.id': id,
    'millrace.attempt': job?.attempt ?? receiveCount,
    ...(job !== null && { 'millrace.job.id': job.id, 'millrace.job.type': job.type }),
    ...(unit !== null && flowAttributes(unit)),
  }
}

const failures: readonly WorkerEventName[] = ['retried', 'failed', 'lost', 'refused']

export class AttemptTrace {
  readonly #traces: Traces
  readonly #span: TraceSpan
  readonly #destination: string
  #error: unknown

  constructor(traces: Traces, span: TraceSpan, destination: string) {
    this.#traces = traces
    this.#span = span
    this.#destination = destination
  }

  /** The error that ended the attempt. Only its type is shown; its text may quote a message. */
  threw(error: unknown): void {
    this.#error = error
  }

  note(event: WorkerEventName, { error = null }: EventDetails): void {
    if (event === 'started') return
    this.#span.set({ 'millrace.outcome': event })
    if (error === null || !failures.includes(event)) return
    this.#span.fail(
      this.#error === undefined ? { type: event, message: error } : failureOf(this.#error, error),
    )
  }

  end(): void {
    this.#span.end()
  }

  /** What a freed slot starts is not part of this attempt. */
  detached(run: () => void): () => void {
    return () => this.#traces.detached(run)
  }

  settle({ kind }: Outcome, settle: () => Promise<SettleResult>): Promise<SettleResult> {
    const attributes = { 'millrace.outcome': kind }
    const request = { operation: 'settle', destination: this.#destination, attributes } as const
    return inSpan(this.#traces, request, async (span) => {
      const result = await settle()
      noteUnsettled(span, result)
      return result
    })
  }
}
