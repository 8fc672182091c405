import { interruptedExitCode } from '../../core/stop-signals.ts'

/** What the exit code of every command means. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** Called wrongly. */
  usage: 2,
  notFound: 3,
  /** Dangerous, and nobody has confirmed it. */
  notConfirmed: 4,
  /** Some of what was asked for is done, and some is not. */
  partlyDone: 5,
  /** The store cannot be opened, or there is none; the server cannot be reached. */
  cannotOpen: 6,
  interrupted: interruptedExitCode,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
