/** `millrace dev`: a server with everything that templates declare. Runs until it is stopped. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Command } from 'commander'
import { CommandFailure } from './command-failure.ts'
import { listenKeys } from './dev-keys.ts'
import { DevLog, type DevLogFlags } from './dev-log.ts'
import { exitCodes } from './exit-codes.ts'
import { addListenOptions, type ListenFlags } from './listen-options.ts'
import { logOn, logOption } from './log-on.ts'
import { many, wholeNumberIn } from './option-values.ts'
import { greeting } from './serve-command.ts'
import { addCredentialsHelp, serverCredentials, shownKey } from './server-credentials.ts'
import type { Shell } from './shell.ts'
import { addStackOptions, placeOf, type StackFlags } from './stack-options.ts'
import { type Call, newCommand, run } from './store-command.ts'
import { untilSignal } from './until-signal.ts'

interface DevFlags extends ListenFlags, StackFlags, DevLogFlags {
  readonly envFile?: readonly string[]
  readonly apiPort?: number
}

export function devCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'dev [templates...]',
    description: 'Run a server with the queues and functions of your templates.',
    examples: ['dev', 'dev serverless.yml --stage dev', 'dev template.yaml --port 4600'],
  })
  addStackOptions(addListenOptions(command))
    .option('--env-file <path>', 'file with environment variables for templates (repeatable)', many)
    .option(
      '--api-port <number>',
      'port for HTTP functions; 0 chooses a free port (default: 3000)',
      wholeNumberIn({ min: 0, max: 65_535 }),
    )
    .option('--reports', 'print START, END and REPORT lines for each invocation, like CloudWatch')
    .addOption(logOption('warn'))
  addCredentialsHelp(command)
  run(shell, command, dev)
}

async function dev(call: Call<DevFlags>, named: readonly string[]): Promise<void> {
  const { flags, output, shell } = call
  const signalled = untilSignal()
  const templates = named.length > 0 ? named : templatesIn(shell.folder)
  const environment = { ...(await variablesOf(flags)), ...shell.environment }
  const log = new DevLog(call)
  const server = await shell.platform.server()
  const credentials = serverCredentials(server, environment)
  const { stage, param, opt } = flags
  const place = placeOf(flags, { environment })
  const running = await server.startDev({
    templates,
    environment,
    host: flags.host,
    port: flags.port,
    store: flags.store,
    log: await logOn(flags.log),
    cooldowns: flags.cooldowns,
    ...place,
    ...credentials,
    ...(stage && { stage }),
    ...(param !== undefined && { parameters: param }),
    ...(opt !== undefined && { options: opt }),
    onProblems: (problems) => log.problems(problems),
    onUp: (plans) => log.up(plans),
    onLogLine: (line) => log.line(line),
    onInvocation: (report) => log.invocation(report),
    onRequest: (report) => log.request(report),
    ...(flags.apiPort !== undefined && { apiPort: flags.apiPort }),
  })
  const exports = { url: running.url, region: place.region, ...shownKey(credentials) }
  output.line(greeting(running, exports))
  if (running.apiUrl !== null) output.line(`functions: ${running.apiUrl}`)
  const keys = listenKeys(shell, running)
  if (keys !== undefined) output.notice(keys.help)
  const quit = keys === undefined ? [] : [keys.quit]
  const loss = await Promise.race([signalled, running.lost, ...quit])
  keys?.end()
  await running.stop()
  if (loss !== undefined) throw loss
}

/** The files that frameworks use by default. */
const usualNames = ['serverless.yml', 'serverless.yaml', 'template.yaml', 'template.yml', 'cdk.out']

function templatesIn(folder: string): readonly string[] {
  return usualNames
    .map((name) => join(folder, name))
    .filter(existsSync)
    .slice(0, 1)
}

/** Later files override earlier ones, and the environment overrides all files. */
async function variablesOf({
  envFile = [],
}: DevFlags): Promise<Record<string, string | undefined>> {
  const texts = await Promise.all(
    envFile.map((file) =>
      readFile(file, 'utf8').catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : 'unknown'
        throw new CommandFailure(exitCodes.usage, `Cannot read ${file}: ${reason}`)
      }),
    ),
  )
  return Object.assign({}, ...texts.map((text) => parseEnv(text)))
}
