/** What commands on a store share: their options, opening the store, and the end of what it refuses. */
import { type Command, Option } from 'commander'
import type { Backend } from '../../backends/backend.ts'
import { didYouMean } from '../../core/did-you-mean.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { serverDefaults } from '../../core/server-defaults.ts'
import { allQueues } from '../../operations/list-queues.ts'
import type { ColourChoice } from './colour.ts'
import { CommandFailure, failureOf } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { type Output, outputOf, type Shell } from './shell.ts'
import { printable } from './table.ts'

export interface StoreFlags {
  readonly data: string
  readonly json?: true
}

/** One run of a command: its options, where it writes, and what is around it. */
export interface Call<Flags> {
  readonly flags: Flags
  readonly output: Output
  readonly shell: Shell
}

/** As much of a call as opening its store takes. */
export type StoreCall<Flags extends Pick<StoreFlags, 'data'> = Pick<StoreFlags, 'data'>> = Pick<
  Call<Flags>,
  'flags' | 'shell'
>

export interface OpenStore {
  readonly backend: Backend
}

export interface CommandText {
  /** Name and arguments: `show <queue>`. */
  readonly usage: string
  /** One sentence. */
  readonly description: string
  /** Calls as people would make them, without the name of the program. */
  readonly examples?: readonly string[]
}

export function newCommand(
  parent: Command,
  { usage, description, examples }: CommandText,
): Command {
  const command = parent.command(usage).description(description)
  if (examples !== undefined) {
    const lines = examples.map((example) => `  millrace ${example}`).join('\n')
    command.addHelpText('after', `\nExamples:\n${lines}`)
  }
  return command
}

/** A command on the store in `--data`, with `--json`. */
export function storeCommand(parent: Command, text: CommandText): Command {
  return newCommand(parent, text)
    .addOption(dataOption())
    .option('--json', 'one JSON document on stdout')
}

/** `--data`, the same for every command; an empty value counts as none. */
export function dataOption(): Option {
  const { data } = serverDefaults
  return new Option('--data <directory>', 'where the store lives')
    .env('MILLRACE_DATA')
    .default(data)
    .argParser((text) => text || data)
}

/** Sets what a command does. Its arguments come behind the call, as texts. */
export function run<Flags>(
  shell: Shell,
  command: Command,
  action: (call: Call<Flags>, ...values: readonly never[]) => Promise<void>,
): void {
  command.action(async (...given: readonly unknown[]) => {
    const flags = command.optsWithGlobals<Flags & { readonly color?: ColourChoice }>()
    const call = { flags, output: outputOf(shell, flags.color), shell }
    // Commander hands over the values of the arguments, then the options and the command itself.
    await action(call, ...(given.slice(0, -2) as never[]))
  })
}

export interface InStoreOptions {
  /** The queue that is meant; a name like it is offered when it does not exist. */
  readonly queue?: string
  /** Makes a store where there is none. */
  readonly create?: boolean
}

/** A person waits for the result. */
const busyTimeoutMs = 10_000

export async function inStore<T>(
  { flags, shell }: StoreCall,
  use: (store: OpenStore) => Promise<T>,
  { queue, create = false }: InStoreOptions = {},
): Promise<T> {
  const { openBackend } = await shell.platform.stores()
  const options = { data: flags.data, create, busyTimeoutMs }
  await using store = await openBackend(options).catch((error: unknown) => {
    if (!(error instanceof MillraceError)) throw error
    throw new CommandFailure(exitCodes.cannotOpen, error.message)
  })
  try {
    return await use(store)
  } catch (error) {
    const isMissing = error instanceof MillraceError && error.code === 'queue_not_found'
    throw isMissing && queue !== undefined ? await missing(store, queue) : failureOf(error)
  }
}

async function missing({ backend }: OpenStore, queue: string): Promise<CommandFailure> {
  const names = (await allQueues(backend)).map(({ name }) => name)
  // A name that exists was refused for another queue, such as the one that it names.
  const hint = names.includes(queue) ? '' : didYouMean(queue, names)
  const message = names.includes(queue)
    ? 'A queue that this command names does not exist.'
    : `There is no queue '${printable(queue)}'${hint || '.'}`
  return new CommandFailure(exitCodes.notFound, message)
}
