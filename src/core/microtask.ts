const resolved = Promise.resolve()

/**
 * Calls `run` after the present code, before the next turn of the event loop. Jest replaces
 * `queueMicrotask` while it fakes timers, and cannot replace promises.
 */
export function microtask(run: () => void): void {
  void resolved.then(run)
}
