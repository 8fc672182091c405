/** What the exit code of every command means. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  cannotOpen: 6,
  interrupted: 130,
} as const
