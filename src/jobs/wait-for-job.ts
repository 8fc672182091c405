/** Waits until a job has finished, in any process, by polling the store. */
import type { JobStore } from '../backends/job-store.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { pause } from '../core/pause.ts'
import type { Ports } from '../core/ports.ts'
import { type FinishedJob, isFinishedJob, jobFrom } from './job.ts'

export interface WaitOptions {
  /** How long to wait before rejecting with `wait_timed_out`. The job continues. Default 30s. */
  readonly timeout?: Duration
  /** Aborts the wait, not the job. */
  readonly signal?: AbortSignal
}

export interface WaitSetup {
  readonly store: Pick<JobStore, 'read'>
  readonly ports: Pick<Ports, 'clock' | 'timers'>
}

const waitOptions: OptionNames<WaitOptions> = { timeout: true, signal: true }

const pollMs = 100
const defaultTimeout: Duration = '30s'

export async function waitForJob(
  { store, ports: { clock, timers } }: WaitSetup,
  id: string,
  options: WaitOptions = {},
): Promise<FinishedJob> {
  refuseUnknownOptions(options, waitOptions)
  const { timeout = defaultTimeout, signal } = options
  const deadline = clock.monotonic() + durationMs(timeout, 'timeout')
  for (;;) {
    signal?.throwIfAborted()
    const record = await store.read({ id })
    if (record === undefined) throw new MillraceError('job_not_found')
    const job = jobFrom(record)
    if (isFinishedJob(job)) return job
    const remainingMs = deadline - clock.monotonic()
    if (remainingMs <= 0) throw new MillraceError('wait_timed_out')
    // The last poll is at the deadline.
    if (!signal?.aborted) await pause(timers, Math.min(pollMs, remainingMs), signal)
  }
}
