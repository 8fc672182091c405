/**
 * `millrace completion`: a script for the user's shell. It calls the hidden `__complete` for each word, so
 * commands, options and queue names are always current.
 */
import { Argument, type Command } from 'commander'
import { serverDefaults } from '../../core/server-defaults.ts'
import { allQueues } from '../../operations/list-queues.ts'
import { completionScripts } from './completion-scripts.ts'
import type { Shell } from './shell.ts'
import { type Call, newCommand, run } from './store-command.ts'

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const

export function completionCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'completion',
    description: 'Print a completion script for your shell.',
    examples: [
      'completion bash > ~/.local/share/bash-completion/completions/millrace',
      'completion zsh > ~/.zfunc/_millrace',
      'completion fish > ~/.config/fish/completions/millrace.fish',
      'completion powershell >> $PROFILE',
    ],
  }).addArgument(new Argument('<shell>', 'your shell').choices(shells))
  run(shell, command, async ({ output }: Call<object>, name: (typeof shells)[number]) => {
    output.line(completionScripts[name])
  })
  const hidden = parent
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
  run(shell, hidden, async ({ output }: Call<object>, words: readonly string[]) => {
    for (const word of await complete(parent, words, shell)) output.line(word)
  })
}

/** Candidates for the last word. The words before it decide which command and option it belongs to. */
async function complete(
  program: Command,
  words: readonly string[],
  shell: Shell,
): Promise<readonly string[]> {
  const typed = words.at(-1) ?? ''
  const { command, argument, option } = positionOf(program, words.slice(0, -1))
  const candidates = await candidatesFor({ command, argument, option, typed }, words, shell)
  return candidates.filter((word) => word.startsWith(typed)).sort()
}

interface Position {
  readonly command: Command
  /** The argument that comes next, if any. */
  readonly argument: Argument | undefined
  /** The option whose value comes next, by its name. */
  readonly option: string | undefined
}

function positionOf(program: Command, words: readonly string[]): Position {
  let command = program
  let taken = 0
  let option: string | undefined
  for (const word of words) {
    if (option !== undefined) {
      option = undefined
      continue
    }
    if (word.startsWith('-')) {
      const given = [...command.options, ...program.options].find(
        ({ long, short }) => word === long || word === short,
      )
      if (given?.required || given?.optional) option = given.long ?? word
      continue
    }
    const next = taken === 0 ? command.commands.find((one) => one.name() === word) : undefined
    if (next === undefined) taken += 1
    else command = next
  }
  const { registeredArguments: all } = command
  const last = all.at(-1)
  return { command, argument: all[taken] ?? (last?.variadic ? last : undefined), option }
}

/** Options whose value is a queue. */
const queueOptions = ['--dlq', '--to', '--queue']

async function candidatesFor(
  { command, argument, option, typed }: Position & { readonly typed: string },
  words: readonly string[],
  shell: Shell,
): Promise<readonly string[]> {
  if (option !== undefined) {
    return queueOptions.includes(option) ? queueNames(words, shell) : []
  }
  if (typed.startsWith('-')) {
    return [...command.options, ...(command.parent?.options ?? [])].flatMap(({ long, hidden }) =>
      long && !hidden ? [long] : [],
    )
  }
  if (command.commands.length > 0) {
    return command.commands.map((one) => one.name()).filter((name) => !name.startsWith('_'))
  }
  if (argument?.argChoices) return argument.argChoices
  return argument?.name() === 'queue' ? queueNames(words, shell) : []
}

/** Never prints an error: it would appear in the middle of the line that the user types. */
async function queueNames(
  words: readonly string[],
  { environment, platform }: Shell,
): Promise<readonly string[]> {
  const after = (flag: string): string | undefined =>
    words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined
  const { MILLRACE_STORE, MILLRACE_DATA } = environment
  const named = after('--store') || after('--data') || MILLRACE_STORE || MILLRACE_DATA
  try {
    const { openBackend } = await platform.stores()
    await using store = await openBackend({ store: named || serverDefaults.data })
    return (await allQueues(store.backend)).map(({ name }) => name)
  } catch {
    return []
  }
}
