/** `--store` and `--data`, the same for every command that uses a store. */
import { type Command, Option } from 'commander'
import { serverDefaults } from '../../core/server-defaults.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'

/** What a command gets of the two options. */
export interface StoreChoice {
  /** The URL of a database, or the directory of the embedded store. */
  readonly store: string
}

/** An empty value counts as unset. */
export function addStoreOptions(command: Command): Command {
  const { data } = serverDefaults
  return command
    .addOption(
      new Option('--data <directory>', 'directory of the embedded store')
        .env('MILLRACE_DATA')
        .default(data)
        .argParser((text) => text || data),
    )
    .addOption(
      new Option('--store <place>', 'URL of a Postgres database, or a directory; instead of --data')
        .env('MILLRACE_STORE')
        .argParser((text) => text || undefined),
    )
}

/** Where the value of an option can come from, the strongest first. */
const sources = ['cli', 'env', 'config', 'default']

/** The stronger of the two options. If they are equally strong, `--store` counts; both as flags are refused. */
export function chosenPlace(command: Command): StoreChoice | undefined {
  const { store, data } = command.opts<{ readonly store?: string; readonly data?: string }>()
  if (data === undefined) return undefined
  if (store === undefined) return { store: data }
  const [ofStore, ofData] = ['store', 'data'].map((name) =>
    sources.indexOf(command.getOptionValueSource(name) ?? 'default'),
  )
  if (ofStore === 0 && ofData === 0) {
    throw new CommandFailure(exitCodes.usage, 'Use one of --store and --data, not both.')
  }
  return { store: (ofStore ?? 0) <= (ofData ?? 0) ? store : data }
}
