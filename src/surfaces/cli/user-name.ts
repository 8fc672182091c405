/** The user name to record with an action; `--by` overrides it. */
import { userInfo } from 'node:os'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'

/** In a container, the user id may have no name. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    const message = 'Your user id has no name on this system. Pass your name with --by.'
    throw new CommandFailure(exitCodes.usage, message)
  }
}
