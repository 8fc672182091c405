import { Command, InvalidArgumentError, Option } from 'commander'
import { serveDefaults } from '../../config/serve.ts'
import { version } from '../../config/version.ts'
import { type RunningServer, serve } from '../../server.ts'
import { untilSignal } from './until-signal.ts'

interface Flags {
  readonly host: string
  readonly port: number
  readonly data: string
}

export function serveCommand(): Command {
  const { host, port, dataDirectory } = serveDefaults
  return new Command('serve')
    .description('Start the server on the embedded store.')
    .addOption(
      new Option('--host <address>', 'loopback address to listen on')
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
    .addOption(
      new Option('--data <directory>', 'where the store lives')
        .env('MILLRACE_DATA')
        .default(dataDirectory)
        .argParser((text) => text || dataDirectory),
    )
    .action(run)
}

async function run({ host, port, data }: Flags): Promise<void> {
  const signalled = untilSignal()
  const server = await serve({ host, port, dataDirectory: data })
  console.log(greeting(server))
  await signalled
  await server.stop()
}

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
}

function greeting({ url, dataDirectory }: RunningServer): string {
  return `Millrace ${version} is listening on ${url}
Data: ${dataDirectory}

For AWS clients:
  export AWS_ENDPOINT_URL_SQS=${url}
  export AWS_REGION=us-east-1
  export AWS_ACCESS_KEY_ID=test
  export AWS_SECRET_ACCESS_KEY=test

Stop with Ctrl-C.`
}
