import { type Command, Option } from 'commander'
import { loadApp } from '../../app/load-app.ts'
import { version } from '../../app/version.ts'
import type { RunningServer } from '../../server.ts'
import { type AwsExports, awsExports } from './aws-exports.ts'
import { addListenOptions, type ListenFlags } from './listen-options.ts'
import { logOn, logOption } from './log-on.ts'
import { addCredentialsHelp, serverCredentials, shownKey } from './server-credentials.ts'
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
    .action(run)
  addCredentialsHelp(command)
}

async function run(flags: Flags): Promise<void> {
  const { host, port, data, app, userQueues, cooldowns, log } = flags
  const signalled = untilSignal()
  const { serve } = await import('../../server.ts')
  const credentials = await serverCredentials(process.env)
  const place = placeOf(flags, { environment: process.env })
  const server = await serve({
    host,
    port,
    dataDirectory: data,
    log: await logOn(log),
    cooldowns,
    ...place,
    ...(app && { app: await loadApp(app) }),
    ...credentials,
    ...(userQueues !== undefined && { userQueues }),
  })
  const exports = { url: server.url, region: place.region, ...shownKey(credentials) }
  console.log(`${greeting(server, exports)}\nStop with Ctrl-C.`)
  const loss = await Promise.race([signalled, server.lost])
  await server.stop()
  if (loss !== undefined) throw loss
}

export function greeting({ url, dataDirectory }: RunningServer, exports: AwsExports): string {
  return `Millrace ${version} is listening on ${url}
Data: ${dataDirectory}

For AWS clients:
${awsExports(exports)}
`
}
