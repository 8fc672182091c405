import { exitCodes } from './exit-codes.ts'

/**
 * One Ctrl-C may arrive several times: from the terminal, and again from npm and its script, which forward
 * signals. A user who presses it twice is slower than this.
 */
const echoMs = 300

/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | undefined
    const onSignal = (): void => {
      const now = performance.now()
      firstAt ??= now
      if (now - firstAt > echoMs) process.exit(exitCodes.interrupted)
      resolve()
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}
