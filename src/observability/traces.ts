/**
 * Spans for messages, by the messaging conventions of OpenTelemetry. The parts that send, receive and run
 * work use this port. Without traces it is undefined, so they make no object per message.
 */
import { errorSummary } from '../core/error-summary.ts'
import { isError } from '../core/is-error.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { TraceCarrier } from '../core/trace-context.ts'

/**
 * `create`: one message is made, and sent with others or in the commit of something else. `send`: messages
 * are stored. `receive`: they are leased by hand. `process`: a handler runs. `settle`: a lease ends.
 */
export type Operation = 'create' | 'send' | 'receive' | 'process' | 'settle'

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanRequest {
  readonly operation: Operation
  /** The name of the queue on the backend. */
  readonly destination: string
  readonly attributes?: SpanAttributes
  /** For `send`: each message has a `create` span, whose context it carries. */
  readonly isCreated?: boolean
  /** What the span continues; `root` for a new trace. Default: the active span. */
  readonly parent?: TraceCarrier | 'root' | undefined
  readonly links?: readonly TraceCarrier[]
  /** A result of `now`. Default: it starts with this call. */
  readonly startedAt?: number
}

export interface TraceSpan {
  readonly traceId: string
  /** What a message carries so that its receiver continues this span; undefined if the span has no ids. */
  readonly carrier: TraceCarrier | undefined
  /** Calls the function with this span active. */
  run<T>(work: () => T): T
  set(attributes: SpanAttributes): void
  /** Marks the span as failed. The message must be safe to show. */
  fail(failure: SpanFailure): void
  end(): void
}

export interface SpanFailure {
  /** A name or a code, for `error.type`. */
  readonly type: string
  readonly message: string
}

export interface Traces {
  start(request: SpanRequest): TraceSpan
  /** The context of the active span; undefined if none is active. */
  activeCarrier(): TraceCarrier | undefined
  /** The fields that tie a log line to the active span. */
  activeFields(): { readonly trace_id: string; readonly span_id: string } | undefined
  /** Links the active span to others. */
  linkActive(carriers: readonly TraceCarrier[]): void
  /** Calls the function without an active span, also for what it starts. */
  detached<T>(work: () => T): T
  /** The time, for spans that are made after what they measure. */
  now(): number
}

/** Runs the work in a span that ends with it, and that shows its failure. */
export async function inSpan<T>(
  traces: Traces,
  request: SpanRequest,
  work: (span: TraceSpan) => Promise<T>,
): Promise<T> {
  const span = traces.start(request)
  try {
    return await span.run(() => work(span))
  } catch (error) {
    span.fail(failureOf(error))
    throw error
  } finally {
    span.end()
  }
}

/** @param message a safe summary, if the caller has one */
export function failureOf(error: unknown, message: string = errorSummary(error)): SpanFailure {
  return { type: errorType(error), message }
}

/** One of few values: a code or a class, never a text. */
function errorType(error: unknown): string {
  if (error instanceof MillraceError) return error.code
  if (!isError(error)) return typeof error
  const { name } = error
  return /^[\w.$-]{1,100}$/.test(name) ? name : 'Error'
}
