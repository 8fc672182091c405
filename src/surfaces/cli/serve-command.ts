import { Command, InvalidArgumentError, Option } from 'commander'
import type { Level } from 'pino'
import { serveDefaults } from '../../config/serve.ts'
import { version } from '../../config/version.ts'
import type { Logger } from '../../observability/logger.ts'
import type { RunningServer } from '../../server.ts'
import { dataOption } from './data-option.ts'
import { loadApp } from './load-app.ts'
import { untilSignal } from './until-signal.ts'

interface Flags {
  readonly host: string
  readonly port: number
  readonly data: string
  readonly app?: string
  readonly userQueues?: readonly string[]
  readonly log: LogLevel
}

type LogLevel = Level | 'silent'

const logLevels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

export function serveCommand(): Command {
  const { host, port } = serveDefaults
  return new Command('serve')
    .description('Start the server on the embedded store.')
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
    .addOption(
      new Option('--app <module>', 'file that exports the app whose jobs are served').env(
        'MILLRACE_APP',
      ),
    )
    .addOption(
      new Option('--user-queues <keys>', 'queues in which users may enqueue, comma separated')
        .env('MILLRACE_USER_QUEUES')
        .argParser((text) => text.split(',').filter((key) => key !== '')),
    )
    .addOption(
      new Option('--log <level>', `least level of the log on stderr: ${logLevels.join(', ')}`)
        .env('MILLRACE_LOG')
        .default('info')
        .argParser((text) => (text === '' ? 'info' : parseLevel(text))),
    )
    .addHelpText('after', credentialsHelp)
    .action(run)
}

const credentialsHelp = `
Credentials come from the environment:
  MILLRACE_API_KEYS        name:role:key, comma separated; roles admin, internal, user
  MILLRACE_JWT_SECRET      shared secret of bearer tokens; or MILLRACE_JWT_PUBLIC_KEY (PEM),
                           or MILLRACE_JWT_JWKS_URL
  MILLRACE_JWT_ISSUER      what tokens must name as issuer
  MILLRACE_JWT_AUDIENCE    what tokens must name as audience`

async function run({ host, port, data, app, userQueues, log }: Flags): Promise<void> {
  const signalled = untilSignal()
  // Whoever asks for help or the version need not wait for the whole server to be loaded.
  const { authFromEnvironment, serve } = await import('../../server.ts')
  const auth = authFromEnvironment(process.env)
  const server = await serve({
    host,
    port,
    dataDirectory: data,
    log: await logOn(log),
    ...(app && { app: await loadApp(app) }),
    ...(auth !== undefined && { auth }),
    ...(userQueues !== undefined && { userQueues }),
  })
  console.log(greeting(server))
  await signalled
  await server.stop()
}

/** Lines of JSON on stderr, so that stdout stays what people read and scripts parse. */
async function logOn(level: LogLevel): Promise<Logger> {
  const { pino } = await import('pino')
  const log: Logger = pino({ level, base: null }, pino.destination({ dest: 2, sync: true }))
  return log
}

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
}

function parseLevel(text: string): LogLevel {
  const level = logLevels.find((one) => one === text)
  if (level !== undefined) return level
  throw new InvalidArgumentError(`It must be one of ${logLevels.join(', ')}.`)
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
