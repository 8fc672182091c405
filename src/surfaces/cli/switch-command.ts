/** `millrace switch`: the kill switches of a store, also while servers and workers use it. */
import type { Command } from 'commander'
import { limits } from '../../core/limits.ts'
import { switchEventView, switchView } from '../../operations/switch-view.ts'
import { createSwitches, switchModes, switchOn, switchScopes } from '../../operations/switches.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { durationIn } from './option-values.ts'
import type { Shell } from './shell.ts'
import {
  type Call,
  type CommandText,
  inStore,
  newCommand,
  run,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable, table } from './table.ts'
import { userName } from './user-name.ts'

type Scope = (typeof switchScopes)[number]

interface HistoryFlags extends StoreFlags {
  readonly limit: number
  readonly after?: string
}

interface TargetFlags extends StoreFlags, Readonly<Partial<Record<Scope, string>>> {
  readonly by?: string
  readonly note?: string
  readonly for?: number
}

export function switchCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'switch',
    description: 'Kill switches: stop work without stopping workers.',
  })
  const listing = { usage: 'list', description: 'Show the switches that are on in the store.' }
  run(shell, storeCommand(command, listing), list)
  for (const mode of switchModes) {
    const effect = mode === 'hold' ? 'it waits in its place' : 'it goes to its dead-letter queue'
    const text = { usage: mode, description: `Turn a switch on for what is named: ${effect}.` }
    const turning = targetCommand(command, text).option(
      '--for <duration>',
      'turn off again after so long, such as 1h',
      durationIn(limits.switchMs),
    )
    run(shell, turning, (call: Call<TargetFlags>) => set(call, mode))
  }
  run(shell, targetCommand(command, { usage: 'lift', description: 'Turn a switch off.' }), lift)
  const telling = {
    usage: 'history',
    description: 'Show who turned what on and off, newest first.',
  }
  run(
    shell,
    storeCommand(command, telling)
      .option('--limit <number>', 'how many at most, 1 to 1000', Number, 20)
      .option('--after <text>', 'go on behind the page before'),
    history,
  )
}

function targetCommand(parent: Command, text: CommandText): Command {
  return storeCommand(parent, text)
    .option('--queue <name>', 'a queue, by its name in the store')
    .option('--type <type>', 'a job type')
    .option('--tier <tier>', 'a tier')
    .option('--tenant <tenant>', 'a tenant')
    .option('--name <name>', 'whatever obeys this name, such as LLM_PAUSED')
    .option('--by <who>', 'who does it, for the record (default: the user of this system)')
    .option('--note <text>', 'why, for the record')
}

async function list({ flags, output, shell }: Call<StoreFlags>): Promise<void> {
  const on = await inStore({ flags, shell }, ({ backend }) => createSwitches({ backend }).list())
  const rows = on.map(switchView)
  if (flags.json) return output.json({ switches: rows })
  if (rows.length === 0) return output.notice('No switch is on.')
  output.line(table(['scope', 'value', 'mode', 'by', 'set_at', 'until', 'note'], rows))
}

async function history({ flags, output, shell }: Call<HistoryFlags>): Promise<void> {
  const { limit, after } = flags
  const request = { limit, ...(after !== undefined && { after }) }
  const { items, next = null } = await inStore({ flags, shell }, ({ backend }) =>
    createSwitches({ backend }).history(request),
  )
  const rows = items.map(switchEventView)
  if (flags.json) return output.json({ events: rows, next })
  if (rows.length === 0) return output.notice('No switch was ever turned.')
  output.line(table(['at', 'event', 'scope', 'value', 'mode', 'by', 'until', 'note'], rows))
  if (next !== null) output.notice(`There is more: --after ${next}`)
}

async function set(
  { flags, output, shell }: Call<TargetFlags>,
  mode: (typeof switchModes)[number],
): Promise<void> {
  const { scope, value } = targetOf(flags)
  const lasting = flags.for !== undefined && { for: { ms: flags.for } }
  const options = { ...signatureOf(flags), ...lasting }
  const record = await inStore({ flags, shell }, ({ backend }) =>
    createSwitches({ backend })[mode](switchOn(scope, value), options),
  )
  const view = switchView(record)
  if (flags.json) return output.json(view)
  const effect = mode === 'hold' ? 'Holding' : 'Diverting'
  output.line(`${effect} ${scope} ${printable(value)} until ${view.until ?? 'it is lifted'}.`)
}

async function lift({ flags, output, shell }: Call<TargetFlags>): Promise<void> {
  const { scope, value } = targetOf(flags)
  const signature = signatureOf(flags)
  const wasOn = await inStore({ flags, shell }, ({ backend }) =>
    createSwitches({ backend }).lift(switchOn(scope, value), signature),
  )
  if (!wasOn) {
    const message = `No switch is on for ${scope} ${printable(value)}.`
    throw new CommandFailure(exitCodes.notFound, message)
  }
  if (flags.json) return output.json({ scope, value, lifted: true })
  output.line(`Lifted ${scope} ${printable(value)}.`)
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
