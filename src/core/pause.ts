import type { Timers } from './ports.ts'

/** Waits, but not beyond an abort; the caller checks the signal. */
export function pause(timers: Timers, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      cancel()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = timers.after(delayMs, wake)
    signal?.addEventListener('abort', wake, { once: true })
  })
}

/** Calls `run` after this many turns of the event loop, without sleeping. */
export function afterTurns(timers: Timers, turns: number, run: () => void): void {
  timers.soon(turns === 0 ? run : () => afterTurns(timers, turns - 1, run))
}
