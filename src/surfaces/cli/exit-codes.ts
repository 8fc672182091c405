/** What the exit code of every command means. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** Called wrongly. */
  usage: 2,
  notFound: 3,
  /** The store cannot be opened, or there is none. */
  cannotOpen: 6,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
