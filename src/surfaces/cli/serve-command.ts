import { type Command, Option } from 'commander'
import { loadApp } from '../../config/load-app.ts'
import { version } from '../../config/version.ts'
import type { RunningServer } from '../../server.ts'
import { type AwsExports, awsExports } from './aws-exports.ts'
import { addListenOptions, type ListenFlags } from './listen-options.ts'
import { logOn, logOption } from './log-on.ts'
import { type PlaceFlags, placeOf } from './stack-options.ts'
import { newCommand } from './store-command.ts'
import { untilSignal } from './until-signal.ts'

interface Flags extends ListenFlags, PlaceFlags {
  readonly app?: string
  readonly userQueues?: readonly string[]
}

export function serveCommand(parent: Command): void {
  const command = newCommand(parent, {
    usage: 'serve',
    description: 'Start the server on the embedded store.',
  })
  addListenOptions(command)
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
    .addOption(logOption('info'))
    .addHelpText('after', credentialsHelp)
    .action(run)
}

const credentialsHelp = `
Credentials come from the environment:
  MILLRACE_ACCESS_KEYS     id:secret or id:secret:account, comma separated; who may sign SQS requests
  MILLRACE_API_KEYS        name:role:key, comma separated; roles admin, internal, user
  MILLRACE_JWT_SECRET      shared secret of bearer tokens; or MILLRACE_JWT_PUBLIC_KEY (PEM),
                           or MILLRACE_JWT_JWKS_URL
  MILLRACE_JWT_ISSUER      what tokens must name as issuer
  MILLRACE_JWT_AUDIENCE    what tokens must name as audience`

async function run(flags: Flags): Promise<void> {
  const { host, port, data, app, userQueues, cooldowns, log } = flags
  const signalled = untilSignal()
  // Whoever asks for help or the version need not wait for the whole server to be loaded.
  const { authFromEnvironment, credentialsFromEnvironment, serve } = await import('../../server.ts')
  const auth = authFromEnvironment(process.env)
  const accessKeys = credentialsFromEnvironment(process.env)
  const place = placeOf(flags, { environment: process.env })
  const server = await serve({
    host,
    port,
    dataDirectory: data,
    log: await logOn(log),
    cooldowns,
    ...place,
    ...(app && { app: await loadApp(app) }),
    ...(auth !== undefined && { auth }),
    ...(accessKeys !== undefined && { accessKeys }),
    ...(userQueues !== undefined && { userQueues }),
  })
  const [key] = accessKeys ?? []
  const { url } = server
  const exports = { url, region: place.region, ...(key && { accessKeyId: key.accessKeyId }) }
  console.log(`${greeting(server, exports)}\nStop with Ctrl-C.`)
  await signalled
  await server.stop()
}

export function greeting({ url, dataDirectory }: RunningServer, exports: AwsExports): string {
  return `Millrace ${version} is listening on ${url}
Data: ${dataDirectory}

For AWS clients:
${awsExports(exports)}
`
}
