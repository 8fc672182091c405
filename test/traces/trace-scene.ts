/** The real SDK with an exporter that tests can read. A test file that imports this has traces. */
import { type Attributes, type Span, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { beforeEach } from 'vitest'

const exporter: InMemorySpanExporter = new InMemorySpanExporter()

/** Makes the spans of the tests themselves. */
export const tracer = trace.getTracer('test')

export function registerProvider(): void {
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
  beforeEach(() => exporter.reset())
}

export function spans(name?: string): readonly ReadableSpan[] {
  const all = exporter.getFinishedSpans()
  return name === undefined ? all : all.filter((span) => span.name === name)
}

/** The one span of this name. */
export function span(name: string): ReadableSpan {
  const [found, ...others] = spans(name)
  if (found !== undefined && others.length === 0) return found
  throw new Error(`${others.length + 1} spans '${name}' among: ${names().join(', ')}`)
}

export function names(): readonly string[] {
  return spans().map(({ name }) => name)
}

/** Finished spans as a tree: two spaces for each level, siblings in the order of their names. */
export function tree(): string {
  const all = spans()
  const childrenOf = (id: string | undefined): readonly ReadableSpan[] =>
    all
      .filter((one) => {
        const parent = one.parentSpanContext?.spanId
        return id === undefined ? !all.some((other) => idOf(other) === parent) : parent === id
      })
      .toSorted((one, other) => one.name.localeCompare(other.name))
  const lines = (one: ReadableSpan, depth: number): readonly string[] => [
    `${'  '.repeat(depth)}${one.name}`,
    ...childrenOf(idOf(one)).flatMap((child) => lines(child, depth + 1)),
  ]
  return childrenOf(undefined)
    .flatMap((root) => lines(root, 0))
    .join('\n')
}

export function idOf(one: ReadableSpan): string {
  return one.spanContext().spanId
}

export function traceIds(): ReadonlySet<string> {
  return new Set(spans().map((one) => one.spanContext().traceId))
}

/** Attributes besides those that every span has. */
export function attributesOf({ attributes }: ReadableSpan): Attributes {
  const common = [
    'messaging.system',
    'messaging.operation.name',
    'messaging.operation.type',
    'messaging.destination.name',
  ]
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !common.includes(name)))
}

/** Runs the work in a span of the test. */
export function within<T>(name: string, work: (span: Span) => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, async (own) => {
    try {
      return await work(own)
    } finally {
      own.end()
    }
  })
}
