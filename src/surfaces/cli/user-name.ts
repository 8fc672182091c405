/** Who is at the keyboard, for what is written down; `--by` says otherwise. */
import { userInfo } from 'node:os'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'

/** In a container the user may be a number without a name. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    const message = 'This system has no name for its user: say with --by who you are.'
    throw new CommandFailure(exitCodes.usage, message)
  }
}
