/** Reports workers that were created and never started: otherwise only a growing queue would show it. */
import type { Timers } from '../core/ports.ts'
import type { Notice } from './notice.ts'

/** Long enough for a program that connects to something between the creation of a worker and its start. */
const startWithinMs = 5_000

export interface UnstartedWorkersSetup {
  readonly timers: Timers
  readonly onNotice: (notice: Notice) => void
}

export class UnstartedWorkers {
  readonly #setup: UnstartedWorkersSetup
  readonly #reports = new Set<() => void>()

  constructor(setup: UnstartedWorkersSetup) {
    this.#setup = setup
  }

  /** Takes note of a worker for these queues. The returned function says that it was started. */
  add(queues: readonly string[]): () => void {
    const { timers, onNotice } = this.#setup
    const forget = (): void => {
      cancel()
      this.#reports.delete(report)
    }
    const report = (): void => {
      forget()
      onNotice({ kind: 'worker_not_started', queues })
    }
    const cancel = timers.after(startWithinMs, report, { background: true })
    this.#reports.add(report)
    return forget
  }

  /** Reports at once what has not been started, because it will not be any more. */
  close(): void {
    for (const report of [...this.#reports]) report()
  }
}
