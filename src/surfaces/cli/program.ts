/** The program with all its commands. Turns an error into one line on stderr and an exit code. */
import { Command, CommanderError, Option } from 'commander'
import { MillraceError } from '../../core/millrace-error.ts'
import { version } from '../../version.ts'
import { colourChoices } from './colour.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { oneOf } from './option-values.ts'
import { applySettingsFiles } from './settings-files.ts'
import type { Shell } from './shell.ts'

type AddCommand = (program: Command, shell: Shell) => void

/** Grouped by the headings of the help. Each command is loaded on use, to start fast. */
const commands: Readonly<Record<string, Readonly<Record<string, () => Promise<AddCommand>>>>> = {
  'Run:': {
    dev: async () => (await import('./dev-command.ts')).devCommand,
    serve: async () => (await import('./serve-command.ts')).serveCommand,
    health: async () => (await import('./health-command.ts')).healthCommand,
  },
  'Declare:': {
    up: async () => (await import('./up-command.ts')).upCommand,
    template: async () => (await import('./template-command.ts')).templateCommand,
    doctor: async () => (await import('./doctor-command.ts')).doctorCommand,
  },
  'Inspect and operate:': {
    queue: async () => (await import('./queue-command.ts')).queueCommand,
    message: async () => (await import('./message-command.ts')).messageCommand,
    job: async () => (await import('./job-command.ts')).jobCommand,
    dlq: async () => (await import('./dlq-command.ts')).dlqCommand,
    inbox: async () => (await import('./inbox-command.ts')).inboxCommand,
    collector: async () => (await import('./collector-command.ts')).collectorCommand,
    flow: async () => (await import('./flow-command.ts')).flowCommand,
    schedule: async () => (await import('./schedule-command.ts')).scheduleCommand,
    switch: async () => (await import('./switch-command.ts')).switchCommand,
    budget: async () => (await import('./budget-command.ts')).budgetCommand,
    metrics: async () => (await import('./metrics-command.ts')).metricsCommand,
    alarm: async () => (await import('./alarm-command.ts')).alarmCommand,
  },
  'Back up and seal:': {
    backup: async () => (await import('./backup-command.ts')).backupCommand,
    restore: async () => (await import('./restore-command.ts')).restoreCommand,
    rekey: async () => (await import('./rekey-command.ts')).rekeyCommand,
  },
  'Shell:': {
    completion: async () => (await import('./completion-command.ts')).completionCommand,
  },
}

/** Runs the command with these arguments, and returns the exit code. */
export async function runProgram(shell: Shell, args: readonly string[]): Promise<number> {
  try {
    const program = newProgram(shell)
    const names = Object.values(commands).flatMap((group) => Object.keys(group))
    // Help, completion and mistyped names need all commands.
    const needsAll =
      !names.some((name) => args.includes(name)) ||
      args.includes('help') ||
      args.includes('__complete')
    for (const [heading, group] of Object.entries(commands)) {
      program.commandsGroup(heading)
      for (const [name, load] of Object.entries(group)) {
        if (needsAll || args.includes(name)) (await load())(program, shell)
      }
    }
    await program.parseAsync(args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    return report(shell, error)
  }
}

function newProgram(shell: Shell): Command {
  return new Command('millrace')
    .description(
      'Durable queues, jobs and pipelines in one SQLite file, with no service to install.',
    )
    .version(version)
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 30 })
    .configureOutput({
      writeOut: (text) => shell.out.write(text),
      writeErr: (text) => shell.err.write(text),
    })
    .addOption(
      new Option('--color <when>', `when to use colour: ${colourChoices.join(', ')}`)
        .env('MILLRACE_COLOR')
        .default('auto')
        .argParser(oneOf(colourChoices)),
    )
    .addHelpText(
      'after',
      `
Names in the store are {app}-{stage}-{key}, such as shop-dev-orders. The stage
is dev unless you set another. 'millrace queue list' shows all queues, and
'millrace <command> <verb> --help' shows the options of a verb.`,
    )
    .exitOverride()
    .hook('preAction', (_program, command) => applySettingsFiles(command, shell))
}

function report({ err }: Shell, error: unknown): number {
  // Commander has already printed its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
  // Our own errors have messages for users. Any other error is a defect and needs its stack.
  const isOurs = error instanceof CommandFailure || error instanceof MillraceError
  const text = isOurs ? `error: ${error.message.replaceAll('\n', '; ')}` : stackOf(error)
  err.write(`${text}\n`)
  return error instanceof CommandFailure ? error.exitCode : exitCodes.failed
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
