/**
 * The trace context of a message as text. Millrace keeps the headers of W3C Trace Context beside a message.
 * SQS keeps the header of X-Ray, `AWSTraceHeader`. Both name the same ids, so each can be derived from the
 * other.
 */
import type { MessageAttribute } from './message.ts'

/** Headers that carry a trace context: `traceparent`, and perhaps `tracestate` and `baggage`. */
export interface TraceCarrier {
  readonly traceparent: string
  readonly tracestate?: string
  readonly baggage?: string
}

/** A span that another one continues. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly isSampled: boolean
}

/** The system attribute of SQS. */
export const traceHeaderName = 'AWSTraceHeader'

const traceparentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const noTrace = '0'.repeat(32)
const noSpan = '0'.repeat(16)

/** Undefined if the text is not a valid `traceparent`. Later versions may have more parts. */
export function parseTraceparent(text: string): TraceParent | undefined {
  const [, version, traceId, spanId, flags, more] = traceparentPattern.exec(text) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined) return undefined
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (traceId === noTrace || spanId === noSpan) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags ?? '00', 16) & 1) === 1 }
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

const rootPattern = /^1-([0-9a-f]{8})-([0-9a-f]{24})$/i

/** Undefined if the header of X-Ray names no span. */
export function parseTraceHeader(text: string): TraceParent | undefined {
  const fields = new Map(
    text.split(';').map((field) => {
      const [name = '', value = ''] = field.split('=', 2)
      return [name.trim().toLowerCase(), value.trim()]
    }),
  )
  const [, seconds, random] = rootPattern.exec(fields.get('root') ?? '') ?? []
  if (seconds === undefined || random === undefined) return undefined
  const flags = fields.get('sampled') === '1' ? '01' : '00'
  const spanId = fields.get('parent') ?? ''
  return parseTraceparent(`00-${seconds}${random}-${spanId}-${flags}`.toLowerCase())
}

export function formatTraceHeader({ traceId, spanId, isSampled }: TraceParent): string {
  const root = `1-${traceId.slice(0, 8)}-${traceId.slice(8)}`
  return `Root=${root};Parent=${spanId};Sampled=${isSampled ? '1' : '0'}`
}

/** What a message carries beside its body. */
export interface Carried {
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly systemAttributes: Readonly<Record<string, string>>
}

/**
 * The trace context of a received message: what Millrace stored beside it, the attributes that
 * instrumentations of SQS clients write, or the header of X-Ray.
 */
export function traceCarrierOf({
  attributes,
  systemAttributes,
}: Carried): TraceCarrier | undefined {
  return (
    carrierFrom((name) => systemAttributes[name]) ??
    carrierFrom((name) => textOf(attributes[name])) ??
    carrierOfHeader(systemAttributes[traceHeaderName])
  )
}

/** The value of `AWSTraceHeader`: as it was sent, or made from the trace context beside the message. */
export function traceHeaderOf(
  systemAttributes: Readonly<Record<string, string>>,
): string | undefined {
  const { [traceHeaderName]: given, traceparent } = systemAttributes
  if (given !== undefined || traceparent === undefined) return given
  const parent = parseTraceparent(traceparent)
  return parent && formatTraceHeader(parent)
}

function carrierFrom(read: (name: string) => string | undefined): TraceCarrier | undefined {
  const traceparent = read('traceparent')
  if (traceparent === undefined || parseTraceparent(traceparent) === undefined) return undefined
  const tracestate = read('tracestate')
  const baggage = read('baggage')
  return {
    traceparent,
    ...(tracestate !== undefined && { tracestate }),
    ...(baggage !== undefined && { baggage }),
  }
}

function carrierOfHeader(header: string | undefined): TraceCarrier | undefined {
  const parent = header === undefined ? undefined : parseTraceHeader(header)
  return parent && { traceparent: formatTraceparent(parent) }
}

function textOf(attribute: MessageAttribute | undefined): string | undefined {
  return typeof attribute?.value === 'string' ? attribute.value : undefined
}
