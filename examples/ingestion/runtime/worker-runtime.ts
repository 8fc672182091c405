/** Enqueues uploads for worker processes. */
import type { IngestionMill } from '../app.ts'
import type { Runtime } from './runtime.ts'

export function workerRuntime({ queues }: Pick<IngestionMill, 'queues'>): Runtime {
  return {
    async submit(job) {
      await queues.ingest.send(job, { tenant: job.organizationId })
    },
    stop: async () => undefined,
  }
}
