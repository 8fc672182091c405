/** `millrace switch`: the kill switches of a store. They act on running workers. */
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
    description: 'Turn kill switches on and off: stop work without stopping workers.',
  })
  const listing = { usage: 'list', description: 'List the switches that are on.' }
  run(shell, storeCommand(command, listing), list)
  for (const mode of switchModes) {
    const effect =
      mode === 'hold'
        ? 'Hold messages and jobs: they stay in their queue until you lift the switch.'
        : 'Divert messages and jobs to their dead-letter queue until you lift the switch.'
    const examples = [`switch ${mode} --queue shop-dev-orders --for 1h --note 'provider is down'`]
    const text = { usage: mode, description: effect, examples }
    const turning = targetCommand(command, text).option(
      '--for <duration>',
      'lift the switch after this time, such as 1h',
      durationIn(limits.switchMs),
    )
    run(shell, turning, (call: Call<TargetFlags>) => set(call, mode))
  }
  const lifting = {
    usage: 'lift',
    description: 'Turn off the switch on a queue, type, tier, tenant or name.',
    examples: ['switch lift --queue shop-dev-orders'],
  }
  run(shell, targetCommand(command, lifting), lift)
  const historyText = {
    usage: 'history',
    description: 'Show who turned which switches on and off, newest first.',
  }
  run(
    shell,
    storeCommand(command, historyText)
      .option('--limit <number>', 'maximum number to show, 1 to 1000', Number, 20)
      .option('--after <cursor>', 'start after this cursor, from the previous page'),
    history,
  )
}

function targetCommand(parent: Command, text: CommandText): Command {
  return storeCommand(parent, text)
    .option('--queue <name>', 'messages and jobs of this queue')
    .option('--type <type>', 'jobs of this type')
    .option('--tier <tier>', 'jobs of this tier')
    .option('--tenant <tenant>', 'messages and jobs of this tenant')
    .option('--name <name>', 'all that the app declares to obey this name, such as LLM_PAUSED')
    .option('--by <who>', 'your name, to record (default: your user name)')
    .option('--note <text>', 'reason to record')
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
  if (rows.length === 0) return output.notice('No switch has been used yet.')
  output.line(table(['at', 'event', 'scope', 'value', 'mode', 'by', 'until', 'note'], rows))
  if (next !== null) output.notice(`To see more, add --after ${next}`)
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
  output.line(
    `${effect} ${scope} ${printable(value)} until ${view.until ?? 'the switch is lifted'}.`,
  )
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
  output.line(`Lifted the switch on ${scope} ${printable(value)}.`)
}

function targetOf(flags: TargetFlags): { readonly scope: Scope; readonly value: string } {
  const given = switchScopes.flatMap((scope) => {
    const value = flags[scope]
    return value === undefined ? [] : [{ scope, value }]
  })
  const [target, ...others] = given
  if (target !== undefined && others.length === 0) return target
  const names = switchScopes.map((scope) => `--${scope}`).join(', ')
  throw new CommandFailure(exitCodes.usage, `Use exactly one of ${names}.`)
}

function signatureOf({ by = userName(), note }: TargetFlags): {
  readonly by: string
  readonly note?: string
} {
  return { by, ...(note !== undefined && { note }) }
}
