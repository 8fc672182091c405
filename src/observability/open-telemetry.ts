/**
 * Makes spans with `@opentelemetry/api`. The package is optional. It is loaded when an app is opened and a
 * tracer provider is registered, or when the app asks for traces.
 */
import type {
  Context,
  Link,
  Span,
  SpanKind,
  SpanStatusCode,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { formatTraceparent, parseTraceparent, type TraceCarrier } from '../core/trace-context.ts'
import type {
  Operation,
  SpanAttributes,
  SpanFailure,
  SpanRequest,
  TraceSpan,
  Traces,
} from './traces.ts'

type Api = typeof import('@opentelemetry/api')

/** A tracer provider of OpenTelemetry, without its types: the package may be missing. */
export interface AnyTracerProvider {
  getTracer(name: string, version?: string): unknown
}

/** What is registered with any copy of the package is kept here, so that all copies find it. */
const registered = Symbol.for('opentelemetry.js.api.1')

/** @returns undefined if there is nothing to send spans to */
export async function openTraces(
  option: boolean | AnyTracerProvider | undefined,
  version: string,
): Promise<Traces | undefined> {
  refuseOption(option)
  if (option === false || (option === undefined && !hasProvider())) return undefined
  const api = await import('@opentelemetry/api').catch((error: unknown) => {
    // It was registered with a copy that only another package can load.
    if (option === undefined) return undefined
    const message =
      'traces: the package @opentelemetry/api cannot be loaded. Install it: npm install @opentelemetry/api'
    throw new MillraceError('invalid_argument', { message, cause: error })
  })
  if (api === undefined) return undefined
  const provider =
    typeof option === 'object' ? (option as TracerProvider) : api.trace.getTracerProvider()
  if (!isNoop(provider)) return tracesWith(api, provider.getTracer('millrace', version))
  if (option === undefined) return undefined
  const message =
    'traces: no tracer provider is registered. Start your OpenTelemetry SDK before you open the app.'
  throw new MillraceError('invalid_argument', { message })
}

function refuseOption(option: unknown): void {
  if (option === undefined || typeof option === 'boolean') return
  const { getTracer }: { readonly getTracer?: unknown } = Object(option)
  if (typeof getTracer === 'function') return
  const allowed = 'true, false or a tracer provider'
  throw MillraceError.invalid([{ field: 'traces', given: describeGiven(option), allowed }])
}

function hasProvider(): boolean {
  const { [registered]: found } = globalThis as { [registered]?: { readonly trace?: unknown } }
  return found?.trace !== undefined
}

/** A provider that makes no spans, registered as such or behind the proxy of the API. */
function isNoop(provider: TracerProvider & { getDelegate?(): object }): boolean {
  const delegate = provider.getDelegate?.() ?? provider
  return delegate.constructor?.name === 'NoopTracerProvider'
}

const kinds: Readonly<Record<Operation, keyof typeof SpanKind>> = {
  create: 'PRODUCER',
  send: 'PRODUCER',
  receive: 'CLIENT',
  process: 'CONSUMER',
  settle: 'CLIENT',
}

function tracesWith(api: Api, tracer: Tracer): Traces {
  const { context, trace, ROOT_CONTEXT } = api
  const baseOf = (parent: SpanRequest['parent']): Context => {
    if (parent === undefined) return context.active()
    return parent === 'root' ? ROOT_CONTEXT : contextOf(api, parent)
  }
  return {
    start: (request) => {
      const { operation, destination, attributes, isCreated = false, links, startedAt } = request
      const base = baseOf(request.parent)
      const kind = api.SpanKind[isCreated ? 'CLIENT' : kinds[operation]]
      const options = {
        kind,
        attributes: {
          'messaging.system': 'millrace',
          'messaging.operation.name': operation,
          'messaging.operation.type': operation,
          'messaging.destination.name': destination,
          ...attributes,
        },
        ...(links !== undefined && { links: linksTo(api, links) }),
        ...(startedAt !== undefined && { startTime: startedAt }),
      }
      return new OpenSpan(api, tracer.startSpan(`${operation} ${destination}`, options, base), base)
    },
    activeCarrier: () => carrierOf(api, context.active()),
    activeFields: () => {
      const found = trace.getSpanContext(context.active())
      if (found === undefined || !trace.isSpanContextValid(found)) return undefined
      return { trace_id: found.traceId, span_id: found.spanId }
    },
    linkActive: (carriers) => trace.getActiveSpan()?.addLinks(linksTo(api, carriers)),
    detached: (work) => context.with(ROOT_CONTEXT, work),
    now: () => performance.timeOrigin + performance.now(),
  }
}

class OpenSpan implements TraceSpan {
  readonly #api: Api
  readonly #span: Span
  readonly #context: Context

  constructor(api: Api, span: Span, base: Context) {
    this.#api = api
    this.#span = span
    this.#context = api.trace.setSpan(base, span)
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  get carrier(): TraceCarrier | undefined {
    return carrierOf(this.#api, this.#context)
  }

  run<T>(work: () => T): T {
    return this.#api.context.with(this.#context, work)
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes)
  }

  fail({ type, message }: SpanFailure): void {
    const code: SpanStatusCode = this.#api.SpanStatusCode.ERROR
    this.#span.setAttribute('error.type', type).setStatus({ code, message })
    this.#span.addEvent('exception', { 'exception.type': type, 'exception.message': message })
  }

  end(): void {
    this.#span.end()
  }
}

function linksTo(api: Api, carriers: readonly TraceCarrier[]): Link[] {
  return carriers.flatMap((carrier) => {
    const context = api.trace.getSpanContext(contextOf(api, carrier))
    return context === undefined ? [] : { context }
  })
}

function contextOf(api: Api, { traceparent, tracestate, baggage }: TraceCarrier): Context {
  const parent = parseTraceparent(traceparent)
  if (parent === undefined) return api.ROOT_CONTEXT
  const { traceId, spanId, isSampled } = parent
  const context = api.trace.setSpanContext(api.ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: isSampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: api.createTraceState(tracestate) }),
  })
  return baggage === undefined ? context : api.propagation.extract(context, { baggage })
}

/** W3C limits the header to this length. Longer baggage stays behind. */
const baggageLengthMax = 8_192

function carrierOf(api: Api, context: Context): TraceCarrier | undefined {
  const found = api.trace.getSpanContext(context)
  if (found === undefined || !api.trace.isSpanContextValid(found)) return undefined
  const { traceId, spanId, traceFlags, traceState } = found
  const isSampled = (traceFlags & api.TraceFlags.SAMPLED) !== 0
  const tracestate = traceState?.serialize()
  const baggage = baggageOf(api, context)
  return {
    traceparent: formatTraceparent({ traceId, spanId, isSampled }),
    ...(tracestate && { tracestate }),
    ...(baggage && { baggage }),
  }
}

/** Only a propagator of the SDK can write baggage. */
function baggageOf(api: Api, context: Context): string | undefined {
  if (api.propagation.getBaggage(context) === undefined) return undefined
  const carrier: { baggage?: string } = {}
  api.propagation.inject(context, carrier)
  const { baggage = '' } = carrier
  return baggage.length <= baggageLengthMax ? baggage : undefined
}
