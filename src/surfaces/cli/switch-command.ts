/** `millrace switch`: the kill switches of a store, also while servers and workers use it. */
import { userInfo } from 'node:os'
import { Command, InvalidArgumentError } from 'commander'
import { openStore } from '../../config/open-store.ts'
import { type Duration, durationMs, formatDuration } from '../../core/durations.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { switchEventView, switchView } from '../../operations/switch-view.ts'
import { type Switches, switchModes, switchOn, switchScopes } from '../../operations/switches.ts'
import { CommandFailure } from './command-failure.ts'
import { dataOption } from './data-option.ts'
import { exitCodes } from './exit-codes.ts'
import { printable, table } from './table.ts'

type Scope = (typeof switchScopes)[number]

interface StoreFlags {
  readonly data: string
  readonly json?: true
}

interface HistoryFlags extends StoreFlags {
  readonly limit: number
  readonly after?: string
}

interface TargetFlags extends StoreFlags, Readonly<Partial<Record<Scope, string>>> {
  readonly by?: string
  readonly note?: string
  readonly for?: Duration
}

/** @param parent whose settings this command and those below it take over */
export function switchCommand(parent: Command): Command {
  const command = new Command('switch')
    .description('Kill switches: stop work without stopping workers.')
    .copyInheritedSettings(parent)
  storeCommand(command, 'list', 'Show the switches that are on in the store.').action(list)
  for (const mode of switchModes) {
    const effect = mode === 'hold' ? 'it waits in its place' : 'it goes to its dead-letter queue'
    targetCommand(command, mode, `Turn a switch on for what is named: ${effect}.`)
      .option('--for <duration>', 'turn off again after so long, such as 1h', parseDuration)
      .action((flags: TargetFlags) => set(mode, flags))
  }
  targetCommand(command, 'lift', 'Turn a switch off.').action(lift)
  storeCommand(command, 'history', 'Show who turned what on and off, newest first.')
    .option('--limit <number>', 'how many at most, 1 to 1000', Number, 20)
    .option('--after <text>', 'go on behind the page before')
    .action(history)
  return command
}

function storeCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .addOption(dataOption())
    .option('--json', 'one JSON document on stdout')
}

function targetCommand(parent: Command, name: string, description: string): Command {
  return storeCommand(parent, name, description)
    .option('--queue <name>', 'a queue, by its name in the store')
    .option('--type <type>', 'a job type')
    .option('--tier <tier>', 'a tier')
    .option('--tenant <tenant>', 'a tenant')
    .option('--name <name>', 'whatever obeys this name, such as LLM_PAUSED')
    .option('--by <who>', 'who does it, for the record (default: the user of this system)')
    .option('--note <text>', 'why, for the record')
}

async function list(flags: StoreFlags): Promise<void> {
  const on = await inStore(flags, (switches) => switches.list())
  const rows = on.map(switchView)
  if (flags.json) return tell({ switches: rows })
  if (rows.length === 0) return console.error('No switch is on.')
  console.log(table(['scope', 'value', 'mode', 'by', 'set_at', 'until', 'note'], rows))
}

async function history({ limit, after, ...flags }: HistoryFlags): Promise<void> {
  const request = { limit, ...(after !== undefined && { after }) }
  const { items, next = null } = await inStore(flags, (switches) => switches.history(request))
  const rows = items.map(switchEventView)
  if (flags.json) return tell({ events: rows, next })
  if (rows.length === 0) return console.error('No switch was ever turned.')
  console.log(table(['at', 'event', 'scope', 'value', 'mode', 'by', 'until', 'note'], rows))
  if (next !== null) console.error(`There is more: --after ${next}`)
}

async function set(mode: (typeof switchModes)[number], flags: TargetFlags): Promise<void> {
  const { scope, value } = targetOf(flags)
  const options = { ...signatureOf(flags), ...(flags.for !== undefined && { for: flags.for }) }
  const record = await inStore(flags, (switches) => switches[mode](switchOn(scope, value), options))
  const view = switchView(record)
  if (flags.json) return tell(view)
  const effect = mode === 'hold' ? 'Holding' : 'Diverting'
  console.log(`${effect} ${scope} ${printable(value)} until ${view.until ?? 'it is lifted'}.`)
}

async function lift(flags: TargetFlags): Promise<void> {
  const { scope, value } = targetOf(flags)
  const signature = signatureOf(flags)
  const wasOn = await inStore(flags, (switches) => switches.lift(switchOn(scope, value), signature))
  if (!wasOn) {
    const message = `No switch is on for ${scope} ${printable(value)}.`
    throw new CommandFailure(exitCodes.notFound, message)
  }
  if (flags.json) return tell({ scope, value, lifted: true })
  console.log(`Lifted ${scope} ${printable(value)}.`)
}

async function inStore<T>(
  { data }: StoreFlags,
  run: (switches: Switches) => Promise<T>,
): Promise<T> {
  await using store = await openStore(data).catch((error: unknown) => {
    if (!(error instanceof MillraceError)) throw error
    throw new CommandFailure(exitCodes.cannotOpen, error.message)
  })
  try {
    return await run(store.switches)
  } catch (error) {
    throw error instanceof MillraceError ? failureOf(error) : error
  }
}

function failureOf({ code, message }: MillraceError): CommandFailure {
  if (code === 'invalid_argument') return new CommandFailure(exitCodes.usage, message)
  const isMissing = code === 'queue_not_found'
  return new CommandFailure(isMissing ? exitCodes.notFound : exitCodes.failed, message)
}

function targetOf(flags: TargetFlags): { readonly scope: Scope; readonly value: string } {
  const given = switchScopes.flatMap((scope) => {
    const value = flags[scope]
    return value === undefined ? [] : [{ scope, value }]
  })
  const [target, ...others] = given
  if (target !== undefined && others.length === 0) return target
  const names = switchScopes.map((scope) => `--${scope}`).join(', ')
  throw new CommandFailure(exitCodes.usage, `Exactly one of ${names} is needed.`)
}

function signatureOf({ by = userName(), note }: TargetFlags): {
  readonly by: string
  readonly note?: string
} {
  return { by, ...(note !== undefined && { note }) }
}

/** In a container the user may be a number without a name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    const message = 'This system has no name for its user: say with --by who you are.'
    throw new CommandFailure(exitCodes.usage, message)
  }
}

function parseDuration(text: string): Duration {
  const { min, max } = limits.switchMs
  const ms = msOf(text)
  if (ms !== undefined && ms >= min && ms <= max) return { ms }
  const most = formatDuration(max)
  throw new InvalidArgumentError(`It must be a duration such as '90s' or '1h', at most ${most}.`)
}

function msOf(text: string): number | undefined {
  try {
    // Whether it is one is what is asked here.
    return durationMs(text as Duration)
  } catch {
    return undefined
  }
}

function tell(document: object): void {
  console.log(JSON.stringify(document, null, 2))
}
