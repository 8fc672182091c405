import { onStopSignal } from '../../core/stop-signals.ts'

/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    onStopSignal(resolve)
  })
}
