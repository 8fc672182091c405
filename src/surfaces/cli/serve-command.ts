import { type Command, Option } from 'commander'
import type { RunningServer } from '../../server.ts'
import { version } from '../../version.ts'
import { addListenOptions, type ListenFlags } from './listen-options.ts'
import { logOn, logOption } from './log-on.ts'
import { addCredentialsHelp, serverCredentials, shownKey } from './server-credentials.ts'
import type { Shell } from './shell.ts'
import { type PlaceFlags, placeOf } from './stack-options.ts'
import { type Call, newCommand, run } from './store-command.ts'
import { untilSignal } from './until-signal.ts'

interface Flags extends ListenFlags, PlaceFlags {
  readonly app?: string
  readonly userQueues?: readonly string[]
}

export function serveCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'serve',
    description: 'Serve a store to AWS SDKs, and with --app to HTTP clients, until Ctrl-C.',
    examples: ['serve', 'serve --app src/app.ts --port 4600'],
  })
  addListenOptions(command)
    .addOption(
      new Option('--app <module>', 'file that exports the app to serve').env('MILLRACE_APP'),
    )
    .addOption(
      new Option(
        '--user-queues <keys>',
        'queues to which the role user may add jobs, comma separated',
      )
        .env('MILLRACE_USER_QUEUES')
        .argParser((text) => text.split(',').filter((key) => key !== '')),
    )
    .addOption(logOption('info'))
  addCredentialsHelp(command)
  run(shell, command, serve)
}

async function serve({ flags, output, shell }: Call<Flags>): Promise<void> {
  const { platform, environment } = shell
  const { host, port, store, app, userQueues, cooldowns, log } = flags
  const signalled = untilSignal()
  const server = await platform.server()
  const credentials = serverCredentials(server, environment)
  const place = placeOf(flags, shell)
  const running = await server.serve({
    host,
    port,
    store,
    log: await logOn(log),
    cooldowns,
    ...place,
    ...(app && { app: await (await platform.apps()).loadApp(app, { environment }) }),
    ...credentials,
    ...(userQueues !== undefined && { userQueues }),
  })
  const exports = { url: running.url, region: place.region, ...shownKey(credentials) }
  output.line(`${greeting(running, exports)}\nPress Ctrl-C to stop.`)
  const loss = await Promise.race([signalled, running.lost])
  await running.stop()
  if (loss !== undefined) throw loss
}

export function greeting({ url, data, place }: RunningServer, exports: AwsExports): string {
  return `Millrace ${version} is listening on ${url}
${data === null ? `Store: ${place}` : `Data: ${data}`}

For AWS clients:
${awsExports(exports)}
`
}

interface AwsExports {
  readonly url: string
  readonly region: string
  /** Set when requests must be signed. The secret is never printed, because logs keep the output. */
  readonly accessKeyId?: string
}

/** Shell commands that point AWS clients to this server. */
function awsExports({ url, region, accessKeyId }: AwsExports): string {
  const secret = accessKeyId === undefined ? 'test' : '(the secret of this key)'
  // boto3, and the aws CLI of some distributions, read only AWS_DEFAULT_REGION.
  return `  export AWS_ENDPOINT_URL_SQS=${url}
  export AWS_REGION=${region}
  export AWS_DEFAULT_REGION=${region}
  export AWS_ACCESS_KEY_ID=${accessKeyId ?? 'test'}
  export AWS_SECRET_ACCESS_KEY=${secret}`
}
