import type { ExitCode } from './exit-codes.ts'

/** The end of a command that says itself what its exit code is, in a text for people. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}
