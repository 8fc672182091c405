/** SIGTERM and SIGINT, which ask a process to stop. */
const signals = ['SIGTERM', 'SIGINT'] as const

/** What shells report for a program that Ctrl-C has ended. */
export const interruptedExitCode = 130

/**
 * One Ctrl-C may arrive several times: from the terminal, and again from npm and its script, which
 * pass on what they receive. A person who means it twice is slower than this.
 */
const echoMs = 300

/** Calls `run` at the first signal. A second one ends the process at once. Returns what stops listening. */
export function onStopSignal(run: () => void): () => void {
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (firstAt === undefined) {
      firstAt = now
      run()
    } else if (now - firstAt > echoMs) {
      process.stderr.write(`Received ${signal} while stopping: exiting at once.\n`)
      process.exit(interruptedExitCode)
    }
  }
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}
