#!/usr/bin/env node
/**
 * The `millrace` command. Data goes to stdout, everything else to stderr; what exit codes mean is in
 * exit-codes.ts.
 */
import { Command, CommanderError } from 'commander'
import { version } from '../../config/version.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { serveCommand } from './serve-command.ts'
import { switchCommand } from './switch-command.ts'

const program = new Command('millrace')
  .description('Durable queues in a file, without a service to install.')
  .version(version)
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
// Subcommands take over the settings of their parent, so they are added last.
program.addCommand(serveCommand().copyInheritedSettings(program))
program.addCommand(switchCommand(program))

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
  const isOurs = error instanceof CommandFailure || error instanceof MillraceError
  console.error(isOurs ? `error: ${error.message.replaceAll('\n', '; ')}` : error)
  return error instanceof CommandFailure ? error.exitCode : exitCodes.failed
}
