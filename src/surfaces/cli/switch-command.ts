/** `millrace switch`: kill switches of a store, also while servers and workers use it. */
import { userInfo } from 'node:os'
import { Command, CommanderError, Option } from 'commander'
import { openStore } from '../../config/open-store.ts'
import { serveDefaults } from '../../config/serve.ts'
import { type Duration, durationMs } from '../../core/durations.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { exitCodes } from './exit-codes.ts'

type Store = Awaited<ReturnType<typeof openStore>>['switches']
type Target = Pick<Parameters<Store['lift']>[0], 'scope' | 'value'>

const scopes = ['queue', 'type', 'tier', 'tenant', 'name'] as const

interface Flags extends Readonly<Partial<Record<(typeof scopes)[number], string>>> {
  readonly data: string
  readonly json?: boolean
  readonly by: string
  readonly note?: string
  readonly for?: string
  readonly limit: string
}

export function switchCommand(): Command {
  const command = new Command('switch').description(
    'Kill switches: hold or divert work without stopping workers.',
  )
  const list = storeCommand('list', 'Those that are on.').action((flags: Flags) =>
    withStore(flags, async (store) => show(flags, await store.list())),
  )
  const history = storeCommand('history', 'Who turned what on and off, newest first.')
    .option('--limit <number>', 'how many, 1 to 1000', '20')
    .action((flags: Flags) =>
      withStore(flags, async (store) =>
        show(flags, (await store.history({ limit: Number(flags.limit) })).items),
      ),
    )
  const lift = targetCommand('lift', 'Turn a switch off.').action((flags: Flags) =>
    withStore(flags, async (store) => {
      const target = targetOf(flags)
      const wasOn = await store.lift({ ...target, by: flags.by, ...noteOf(flags) })
      if (!wasOn) throw notOn(target)
      show(flags, [{ ...target, mode: 'off' }])
    }),
  )
  for (const one of [list, setCommand('hold'), setCommand('divert'), lift, history]) {
    command.addCommand(one)
  }
  return command
}

function setCommand(mode: 'hold' | 'divert'): Command {
  const what = mode === 'hold' ? 'Let it wait in its place.' : 'Send it to its dead-letter queue.'
  return targetCommand(mode, what)
    .option('--for <duration>', "turns itself off after so long, such as '1h'")
    .action((flags: Flags) =>
      withStore(flags, async (store) => {
        const forMs = flags.for && durationMs(flags.for as Duration, '--for')
        const request = { ...targetOf(flags), mode, by: flags.by, ...noteOf(flags) }
        show(flags, [await store.set({ ...request, ...(forMs && { forMs }) })])
      }),
    )
}

function targetCommand(name: string, description: string): Command {
  const command = storeCommand(name, description)
  for (const scope of scopes) command.option(`--${scope} <text>`, `what is meant: a ${scope}`)
  return command
    .option('--by <who>', 'for the record', userInfo().username)
    .option('--note <text>', 'why, for the record')
}

function storeCommand(name: string, description: string): Command {
  const { dataDirectory } = serveDefaults
  return new Command(name)
    .description(description)
    .addOption(
      new Option('--data <directory>', 'where the store lives')
        .env('MILLRACE_DATA')
        .default(dataDirectory)
        .argParser((text) => text || dataDirectory),
    )
    .option('--json', 'one JSON document on stdout')
}

function targetOf(flags: Flags): Target {
  const given = scopes.filter((scope) => flags[scope] !== undefined)
  const [scope, ...others] = given
  if (scope === undefined || others.length > 0) {
    const message = `error: name exactly one of ${scopes.map((one) => `--${one}`).join(', ')}`
    console.error(message)
    throw new CommanderError(exitCodes.usage, 'millrace.target', message)
  }
  return { scope, value: flags[scope] ?? '' }
}

function noteOf({ note }: Flags): { readonly note?: string } {
  return note === undefined ? {} : { note }
}

async function withStore(
  { data }: Flags,
  run: (store: Store) => Promise<void> | void,
): Promise<void> {
  await using store = await openStore(data)
  await run(store.switches)
}

function show({ json }: Flags, rows: readonly object[]): void {
  if (json) console.log(JSON.stringify(rows))
  else for (const row of rows) console.log(lineOf(row))
}

/** Times are for people here; `--json` has them in milliseconds. */
function lineOf(row: object): string {
  const fields = Object.entries(row).filter(([, value]) => value !== null && value !== undefined)
  return fields
    .map(([name, value]) => {
      const isTime = ['setAt', 'until', 'at'].includes(name)
      return `${name}=${isTime ? new Date(Number(value)).toISOString() : value}`
    })
    .join('  ')
}

function notOn({ scope, value }: Target): MillraceError {
  const message = `The switch on the ${scope} '${value.slice(0, 80)}' is not on.`
  return new MillraceError('switch_not_on', { message })
}
