import type { Timers } from './ports.ts'

/** Waits, but not beyond an abort; whoever waits looks at the signal. */
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
