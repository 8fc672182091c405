/** Logs or prints the events of attempts: those that workers report, and those that were lost with their process. */
import type { AttemptLostListener } from '../core/lost-attempt.ts'
import { type Logger, silentLogger } from '../observability/logger.ts'
import { failureReport } from '../observability/print-failure.ts'
import { logTransition } from '../observability/transition-log.ts'
import type { WorkerEvent } from '../worker/worker-event.ts'

export interface EventReporting {
  readonly log: Logger
  /** Whether failed attempts are printed to stderr, because there is no log. */
  readonly printsFailures: boolean
}

/** Logs or prints events; undefined if both are off. */
export function reporterTo({
  log,
  printsFailures,
}: EventReporting): ((event: WorkerEvent) => void) | undefined {
  if (log !== silentLogger) return (event) => harmless(() => logTransition(log, event))
  return printsFailures ? printFailure : undefined
}

export interface LostAttemptsSetup extends EventReporting {
  /** The key of a queue of the app. */
  readonly keyOf: (name: string) => string | undefined
  /** Whether a worker of this process has the lease: it reports the attempt when the handler has ended. */
  readonly isHeld: (receipt: string) => boolean
}

/** Reports attempts whose process has died, as workers report those that fail; undefined if nothing listens. */
export function lostAttemptListener(setup: LostAttemptsSetup): AttemptLostListener | undefined {
  const report = reporterTo(setup)
  if (report === undefined) return undefined
  return ({ queue, receipt, isLast, ...lost }) => {
    if (setup.isHeld(receipt)) return
    const event = isLast ? 'failed' : 'lost'
    const unknown = { waitedMs: null, failure: null, cause: undefined, retryInMs: null }
    report({ event, queue: setup.keyOf(queue) ?? queue, ...lost, ...unknown })
  }
}

/** Shows why a handler fails to those who have not set up a log yet. */
function printFailure(event: WorkerEvent): void {
  const report = failureReport(event)
  if (report !== undefined) process.stderr.write(`millrace: ${report}`)
}

/** A log or a listener that throws must not prevent settling, or block a slot. */
export function harmless(run: () => void): void {
  try {
    run()
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
