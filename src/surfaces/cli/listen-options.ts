/** The options of the commands that start a server. */
import { type Command, Option } from 'commander'
import { serverDefaults } from '../../core/server-defaults.ts'
import type { LogLevel } from './log-on.ts'
import { wholeNumberIn } from './option-values.ts'
import { addPlaceOptions } from './stack-options.ts'
import { addStoreOptions, type StoreChoice } from './store-options.ts'

export interface ListenFlags extends StoreChoice {
  readonly host: string
  readonly port: number
  readonly cooldowns: boolean
  readonly log: LogLevel
}

export function addListenOptions(command: Command): Command {
  const { host, port } = serverDefaults
  const parsePort = wholeNumberIn({ min: 0, max: 65_535 })
  command
    .addOption(
      new Option(
        '--host <address>',
        'address to listen on; addresses other than loopback require credentials',
      )
        .env('MILLRACE_HOST')
        .default(host)
        .argParser((text) => text || host),
    )
    .addOption(
      new Option('--port <number>', 'port to listen on; 0 chooses a free port')
        .env('MILLRACE_PORT')
        .default(port)
        .argParser((text) => (text === '' ? port : parsePort(text))),
    )
  addStoreOptions(command).option(
    '--no-cooldowns',
    'allow queues to be recreated or purged again at once, unlike AWS',
  )
  return addPlaceOptions(command)
}
