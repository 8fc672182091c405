/** Shared by commands that use a store: their options, opening the store, and reporting its errors. */
import type { Command } from 'commander'
import type { Backend } from '../../backends/backend.ts'
import { didYouMean } from '../../core/did-you-mean.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { allQueues } from '../../operations/list-queues.ts'
import type { ColourChoice } from './colour.ts'
import { CommandFailure, failureOf } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { type Output, outputOf, type Shell } from './shell.ts'
import { addStoreOptions, chosenPlace, type StoreChoice } from './store-options.ts'
import { printable } from './table.ts'

export interface StoreFlags extends StoreChoice {
  readonly json?: true
}

/** One run of a command: its options, its output, and its surroundings. */
export interface Call<Flags> {
  readonly flags: Flags
  readonly output: Output
  readonly shell: Shell
}

/** The part of a call that opening the store needs. */
export type StoreCall<Flags extends StoreChoice = StoreChoice> = Pick<
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
  /** Example calls, without `millrace`. */
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

/** A command on a store, with `--json`. */
export function storeCommand(parent: Command, text: CommandText): Command {
  const command = newCommand(parent, text)
  return addStoreOptions(command).option('--json', 'print one JSON document to stdout')
}

/** Sets the action of a command. The arguments follow the call, as strings. */
export function run<Flags>(
  shell: Shell,
  command: Command,
  action: (call: Call<Flags>, ...values: readonly never[]) => Promise<void>,
): void {
  command.action(async (...values: readonly unknown[]) => {
    const given = command.optsWithGlobals<Flags & { readonly color?: ColourChoice }>()
    const flags = { ...given, ...chosenPlace(command) }
    const call = { flags, output: outputOf(shell, flags.color), shell }
    // Commander passes the arguments, then the options and the command itself.
    await action(call, ...(values.slice(0, -2) as never[]))
  })
}

export interface InStoreOptions {
  /** The queue of this command. If it does not exist, the error suggests a similar name. */
  readonly queue?: string
  /** Creates the store if it does not exist. */
  readonly create?: boolean
}

/** Shorter than the default, because a user waits for the result. */
const busyTimeoutMs = 10_000

export async function inStore<T>(
  { flags, shell }: StoreCall,
  use: (store: OpenStore) => Promise<T>,
  { queue, create = false }: InStoreOptions = {},
): Promise<T> {
  const { openBackend } = await shell.platform.stores()
  const options = { store: flags.store, create, busyTimeoutMs }
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
  // If the queue exists, another queue is missing, such as its dead-letter queue.
  const hint = names.includes(queue) ? '' : didYouMean(queue, names)
  const message = names.includes(queue)
    ? 'A queue in this command does not exist.'
    : `The queue '${printable(queue)}' does not exist${hint || '.'}`
  return new CommandFailure(exitCodes.notFound, message)
}
