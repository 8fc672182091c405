import { onStopSignal } from '../../core/stop-signals.ts'

/** Resolves at the first request to stop. A second one ends the process at once. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    onStopSignal(resolve)
  })
}
