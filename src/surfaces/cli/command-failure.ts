import type { ErrorCode } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'

/** An error that ends a command with this exit code. Its message is printed without a stack. */
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
  'unit_not_found',
  'schedule_not_found',
  'budget_not_found',
  'job_not_found',
]

/** Converts an error of the store to a failure with its exit code; returns other errors unchanged. */
export function failureOf(error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error
  const { code, message } = error
  if (code === 'flow_not_found') {
    return new CommandFailure(exitCodes.notFound, `${message} Run 'millrace flow list' to see all.`)
  }
  if (code === 'invalid_argument') return new CommandFailure(exitCodes.usage, message)
  return new CommandFailure(missing.includes(code) ? exitCodes.notFound : exitCodes.failed, message)
}
