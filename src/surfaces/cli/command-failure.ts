import type { ErrorCode } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'

/** The end of a command that says itself what its exit code is, in a text for people. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

const missing: readonly ErrorCode[] = [
  'queue_not_found',
  'move_task_not_found',
  'flow_not_found',
  'unit_not_found',
  'schedule_not_found',
]

/** What a refusal by the store means for the exit code; anything else stays what it is. */
export function failureOf(error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error
  const { code, message } = error
  if (code === 'invalid_argument') return new CommandFailure(exitCodes.usage, message)
  return new CommandFailure(missing.includes(code) ? exitCodes.notFound : exitCodes.failed, message)
}
