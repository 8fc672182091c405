/** All commands together, and the end of a run: what went wrong becomes one line and an exit code. */
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

interface CommandEntry {
  readonly name: string
  /** Under which heading help shows it. */
  readonly group: string
  readonly load: () => Promise<AddCommand>
}

/** Each is loaded when it is called, so that nobody waits for the others. */
const commands: readonly CommandEntry[] = [
  {
    name: 'dev',
    group: 'Run:',
    load: async () => (await import('./dev-command.ts')).devCommand,
  },
  {
    name: 'serve',
    group: 'Run:',
    load: async () => (await import('./serve-command.ts')).serveCommand,
  },
  {
    name: 'health',
    group: 'Run:',
    load: async () => (await import('./health-command.ts')).healthCommand,
  },
  {
    name: 'up',
    group: 'Declare:',
    load: async () => (await import('./up-command.ts')).upCommand,
  },
  {
    name: 'template',
    group: 'Declare:',
    load: async () => (await import('./template-command.ts')).templateCommand,
  },
  {
    name: 'doctor',
    group: 'Declare:',
    load: async () => (await import('./doctor-command.ts')).doctorCommand,
  },
  {
    name: 'queue',
    group: 'Look and act:',
    load: async () => (await import('./queue-command.ts')).queueCommand,
  },
  {
    name: 'message',
    group: 'Look and act:',
    load: async () => (await import('./message-command.ts')).messageCommand,
  },
  {
    name: 'dlq',
    group: 'Look and act:',
    load: async () => (await import('./dlq-command.ts')).dlqCommand,
  },
  {
    name: 'inbox',
    group: 'Look and act:',
    load: async () => (await import('./inbox-command.ts')).inboxCommand,
  },
  {
    name: 'collector',
    group: 'Look and act:',
    load: async () => (await import('./collector-command.ts')).collectorCommand,
  },
  {
    name: 'flow',
    group: 'Look and act:',
    load: async () => (await import('./flow-command.ts')).flowCommand,
  },
  {
    name: 'schedule',
    group: 'Look and act:',
    load: async () => (await import('./schedule-command.ts')).scheduleCommand,
  },
  {
    name: 'switch',
    group: 'Look and act:',
    load: async () => (await import('./switch-command.ts')).switchCommand,
  },
  {
    name: 'metrics',
    group: 'Look and act:',
    load: async () => (await import('./metrics-command.ts')).metricsCommand,
  },
  {
    name: 'alarm',
    group: 'Look and act:',
    load: async () => (await import('./alarm-command.ts')).alarmCommand,
  },
  {
    name: 'backup',
    group: 'Keep safe:',
    load: async () => (await import('./backup-command.ts')).backupCommand,
  },
  {
    name: 'restore',
    group: 'Keep safe:',
    load: async () => (await import('./restore-command.ts')).restoreCommand,
  },
  {
    name: 'completion',
    group: 'Help:',
    load: async () => (await import('./completion-command.ts')).completionCommand,
  },
]

/** Runs one call of the command; the answer is its exit code. */
export async function runProgram(shell: Shell, args: readonly string[]): Promise<number> {
  try {
    const program = newProgram(shell)
    const named = commands.filter(({ name }) => args.includes(name))
    // Help, completion and mistyped names need all of them.
    const needed =
      named.length === 0 || args.includes('help') || args.includes('__complete') ? commands : named
    for (const { group, load } of needed) {
      program.commandsGroup(group)
      const add = await load()
      add(program, shell)
    }
    await program.parseAsync(args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    return report(shell, error)
  }
}

function newProgram(shell: Shell): Command {
  return new Command('millrace')
    .description('Durable queues in a file, without a service to install.')
    .version(version)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => shell.out.write(text),
      writeErr: (text) => shell.err.write(text),
    })
    .addOption(
      new Option('--color <when>', `colour in what is printed: ${colourChoices.join(', ')}`)
        .env('MILLRACE_COLOR')
        .default('auto')
        .argParser(oneOf(colourChoices)),
    )
    .exitOverride()
    .hook('preAction', (_program, command) => applySettingsFiles(command, shell))
}

function report({ err }: Shell, error: unknown): number {
  // Commander has said everything already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
  // Our own errors are written for people. Anything else is a defect, and needs its stack.
  const isOurs = error instanceof CommandFailure || error instanceof MillraceError
  const text = isOurs ? `error: ${error.message.replaceAll('\n', '; ')}` : stackOf(error)
  err.write(`${text}\n`)
  return error instanceof CommandFailure ? error.exitCode : exitCodes.failed
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
