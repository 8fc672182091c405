/** Where an uploaded document is processed. An environment variable selects the runtime. */
import type { IngestJob } from '../app.ts'

export interface Runtime {
  /** Accepts the document; it is processed later. */
  submit(job: IngestJob): Promise<void>
  /** Finishes what has begun. */
  stop(): Promise<void>
}
