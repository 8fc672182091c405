/** `millrace health`: checks that a server is ready, so that containers need no other program for it. */
import { type Command, Option } from 'commander'
import { serverDefaults } from '../../core/server-defaults.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { durationIn, webAddress } from './option-values.ts'
import type { Shell } from './shell.ts'
import { type Call, newCommand, run } from './store-command.ts'

interface HealthFlags {
  readonly url: string
  readonly timeout: number
  readonly json?: true
}

export function healthCommand(parent: Command, shell: Shell): void {
  const { host, port } = serverDefaults
  const url = `http://${host}:${port}`
  const command = newCommand(parent, {
    usage: 'health',
    description: 'Check that a server is ready.',
    examples: ['health', 'health --url http://127.0.0.1:4600'],
  })
    .addOption(
      new Option('--url <address>', 'address of the server')
        .env('MILLRACE_URL')
        .default(url)
        .argParser((text) => (text === '' ? url : webAddress(text))),
    )
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for the response')
        .argParser(durationIn(timeouts))
        .default(5_000, '5s'),
    )
    .option('--json', 'print one JSON document to stdout')
  run(shell, command, ask)
}

const timeouts = { min: 1, max: 300_000, unit: 'ms' }

async function ask({ flags, output, shell }: Call<HealthFlags>): Promise<void> {
  const tooLate = new AbortController()
  const cancel = shell.ports.timers.after(flags.timeout, () => tooLate.abort())
  const response = await fetch(new URL('/readyz', flags.url), { signal: tooLate.signal }).catch(
    () => undefined,
  )
  cancel()
  if (response === undefined) {
    throw new CommandFailure(
      exitCodes.cannotOpen,
      `No response from ${flags.url}. Check that the server runs, or name another one with --url.`,
    )
  }
  await response.body?.cancel()
  const { status, ok: ready } = response
  if (flags.json) output.json({ url: flags.url, ready, status })
  else if (ready) output.line('ready')
  if (!ready)
    throw new CommandFailure(
      exitCodes.failed,
      `The server at ${flags.url} is not ready (status ${status}).`,
    )
}
