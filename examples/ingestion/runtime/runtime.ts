/** Who runs the stages for an upload. Switching between the two is a variable, not a change of code. */
import type { IngestJob } from '../app.ts'

export interface Runtime {
  /** Takes the job on; the work itself comes later. */
  submit(job: IngestJob): Promise<void>
  /** Lets what has begun come to an end. */
  stop(): Promise<void>
}
