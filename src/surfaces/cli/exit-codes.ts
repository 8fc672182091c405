import { interruptedExitCode } from '../../core/stop-signals.ts'

/** The exit codes of all commands. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** Wrong options or arguments. */
  usage: 2,
  notFound: 3,
  /** Destructive, and not confirmed. */
  notConfirmed: 4,
  /** Part of the work is done, and part failed. */
  partlyDone: 5,
  /** The store does not exist or cannot be opened, or the server cannot be reached. */
  cannotOpen: 6,
  interrupted: interruptedExitCode as typeof interruptedExitCode,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
