/** The options of the commands that start a server. */
import { type Command, Option } from 'commander'
import { serverDefaults } from '../../core/server-defaults.ts'
import type { LogLevel } from './log-on.ts'
import { wholeNumberIn } from './option-values.ts'
import { addPlaceOptions } from './stack-options.ts'
import { dataOption } from './store-command.ts'

export interface ListenFlags {
  readonly host: string
  readonly port: number
  readonly data: string
  readonly cooldowns: boolean
  readonly log: LogLevel
}

export function addListenOptions(command: Command): Command {
  const { host, port } = serverDefaults
  const parsePort = wholeNumberIn({ min: 0, max: 65_535 })
  command
    .addOption(
      new Option('--host <address>', 'address to listen on; other than loopback with credentials')
        .env('MILLRACE_HOST')
        .default(host)
        .argParser((text) => text || host),
    )
    .addOption(
      new Option('--port <number>', 'port to listen on, 0 for any free one')
        .env('MILLRACE_PORT')
        .default(port)
        .argParser((text) => (text === '' ? port : parsePort(text))),
    )
    .addOption(dataOption())
    .option('--no-cooldowns', 'let queues be created or purged again at once, unlike on AWS')
  return addPlaceOptions(command)
}
