#!/usr/bin/env node
/**
 * The `millrace` command. Data goes to stdout, everything else to stderr; what exit codes mean is in
 * exit-codes.ts.
 */
import { Command, CommanderError } from 'commander'
import { version } from '../../config/version.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { exitCodes } from './exit-codes.ts'
import { serveCommand } from './serve-command.ts'
import { switchCommand } from './switch-command.ts'

const program = new Command('millrace')
  .description('Durable queues in a file, without a service to install.')
  .version(version)
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
// Subcommands take over the settings of their parent, so they are added last.
for (const command of [serveCommand(), switchCommand()]) {
  for (const one of [command, ...command.commands]) one.copyInheritedSettings(program)
  program.addCommand(command)
}

// The reader of a pipe may leave first; that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

function report(error: unknown): number {
  // Commander has said everything already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
  // Our own errors are written for people. Anything else is a defect, and needs its stack.
  console.error(error instanceof MillraceError ? `error: ${error.message}` : error)
  return error instanceof MillraceError ? exitCodeOf(error) : exitCodes.failed
}

function exitCodeOf({ code }: MillraceError): number {
  if (code === 'queue_not_found' || code === 'switch_not_on') return exitCodes.notFound
  if (code === 'invalid_argument') return exitCodes.usage
  return code === 'store_unusable' && !isServing() ? exitCodes.cannotOpen : exitCodes.failed
}

/** A server that cannot start has failed; a command that finds no store could not connect. */
function isServing(): boolean {
  return process.argv[2] === 'serve'
}
