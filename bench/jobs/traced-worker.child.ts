/** The worker process of the job benchmarks, with the OpenTelemetry SDK and an exporter that does nothing. */
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'

const exporter = {
  export: (_spans: unknown, done: (result: { readonly code: number }) => void): void =>
    done({ code: 0 }),
  shutdown: async (): Promise<void> => undefined,
}
const limits = { maxQueueSize: 1_000_000, maxExportBatchSize: 5_000 }
const spanProcessors = [new BatchSpanProcessor(exporter, limits)]
new NodeTracerProvider({ spanProcessors }).register()

await import('./worker.child.ts')
