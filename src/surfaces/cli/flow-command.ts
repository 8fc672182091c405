/** `millrace flow`: the flows and chains of a store, also while workers do their units. */
import type { Command } from 'commander'
import type { FlowKey, FlowRecord, FlowStore } from '../../backends/flow-store.ts'
import type { OpenedStore } from '../../config/open-store.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { flowView, unitView } from '../../operations/flow-view.ts'
import { CommandFailure } from './command-failure.ts'
import { confirm } from './confirm.ts'
import { exitCodes } from './exit-codes.ts'
import { flowSheet, flowTable, unitTable } from './flow-sheet.ts'
import { oneOf, wholeNumberIn } from './option-values.ts'
import type { Shell } from './shell.ts'
import {
  type Call,
  inStore,
  newCommand,
  run,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable } from './table.ts'

const statuses = ['open', 'finalized', 'failed', 'cancelled'] as const
const states = ['pending', 'done', 'dead'] as const

interface PageFlags extends StoreFlags {
  readonly limit: number
  readonly after?: string
}

interface ListFlags extends PageFlags {
  readonly flow?: string
  readonly status?: (typeof statuses)[number]
  readonly overdue?: true
}

interface UnitFlags extends PageFlags {
  readonly state?: (typeof states)[number]
}

interface CancelFlags extends StoreFlags {
  readonly yes?: true
}

export function flowCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'flow',
    description: 'Flows and chains: how far they are, where they stopped, going on.',
  })
  run(shell, listCommand(command), list)
  const showing = {
    usage: 'show <flow> <id>',
    description: 'Show how far one flow is.',
    examples: ['flow show ingestion-dev-extraction d-17'],
  }
  run(shell, storeCommand(command, showing), show)
  run(shell, unitsCommand(command), units)
  const cancelling = {
    usage: 'cancel <flow> <id>',
    description: 'End an open flow, and take back the work that nobody has begun.',
  }
  run(shell, storeCommand(command, cancelling).option('--yes', 'do not ask'), cancel)
  const resuming = {
    usage: 'resume <flow> <id> [unit]',
    description: 'Send the work of a unit once more that was given up (default: where it stopped).',
    examples: ['flow resume academy-dev-course c-5', 'flow resume academy-dev-course c-5 outline'],
  }
  run(shell, storeCommand(command, resuming), resume)
}

function listCommand(parent: Command): Command {
  const text = {
    usage: 'list',
    description: 'List flows, newest first.',
    examples: ['flow list --status failed', 'flow list --flow ingestion-dev --overdue --json'],
  }
  return paged(storeCommand(parent, text))
    .option('--flow <name>', 'those whose names begin like this')
    .option('--status <status>', `one of ${statuses.join(', ')}`, oneOf(statuses))
    .option('--overdue', 'only open ones past their deadline')
}

function unitsCommand(parent: Command): Command {
  const text = {
    usage: 'units <flow> <id>',
    description: 'List the units of a flow in their order.',
    examples: ['flow units ingestion-dev-extraction d-17 --state pending'],
  }
  return paged(storeCommand(parent, text)).option(
    '--state <state>',
    `one of ${states.join(', ')}`,
    oneOf(states),
  )
}

function paged(command: Command): Command {
  return command
    .option('--limit <number>', 'how many at most', wholeNumberIn(limits.pageSize), 20)
    .option('--after <text>', 'go on behind the page before')
}

async function list({ flags, voice }: Call<ListFlags>): Promise<void> {
  const { flow: prefix = '', status, overdue, limit, after } = flags
  const request = {
    prefix,
    limit,
    ...(status !== undefined && { status }),
    ...(overdue !== undefined && { overdue }),
    ...(after !== undefined && { after }),
  }
  const { items, next = null } = await inStore(flags, (store) => flowsOf(store).list(request))
  const flows = items.map(flowView)
  if (flags.json) return voice.tell({ flows, next })
  if (flows.length === 0) return voice.note('There is no such flow.')
  voice.say(flowTable(flows, voice.paint))
  if (next !== null) voice.note(`There is more: --after ${next}`)
}

async function show({ flags, voice }: Call<StoreFlags>, flow: string, id: string): Promise<void> {
  const record = await inStore(flags, (store) => requireFlow(flowsOf(store), { flow, id }))
  const view = flowView(record)
  if (flags.json) return voice.tell(view)
  voice.say(flowSheet(view, voice.paint))
}

async function units({ flags, voice }: Call<UnitFlags>, flow: string, id: string): Promise<void> {
  const { state, limit, after } = flags
  const request = {
    flow,
    id,
    limit,
    ...(state !== undefined && { state }),
    ...(after !== undefined && { after }),
  }
  const { items, next = null } = await inStore(flags, (store) => flowsOf(store).units(request))
  const shown = items.map(unitView)
  if (flags.json) return voice.tell({ units: shown, next })
  if (shown.length === 0) return voice.note('There is no such unit.')
  voice.say(unitTable(shown, voice.paint))
  if (next !== null) voice.note(`There is more: --after ${next}`)
}

async function cancel(
  { flags, voice, shell }: Call<CancelFlags>,
  flow: string,
  id: string,
): Promise<void> {
  const question = `This ends ${printable(flow)} ${printable(id)} for good.`
  await confirm(shell, { question, name: id, yes: flags.yes })
  const record = await inStore(flags, (store) => flowsOf(store).cancel({ flow, id }))
  const view = flowView(record)
  if (flags.json) return voice.tell(view)
  voice.say(`Cancelled ${printable(flow)} ${printable(id)}, ${doneOf(record)} done.`)
}

async function resume(
  { flags, voice }: Call<StoreFlags>,
  flow: string,
  id: string,
  unit?: string,
): Promise<void> {
  const record = await inStore(flags, async (store) => {
    const flows = flowsOf(store)
    const place = unit ?? (await requireFlow(flows, { flow, id })).failure?.unit
    if (place) return flows.resume({ flow, id, unit: place })
    const message = 'The flow has not stopped at a unit. Name one to do it once more.'
    throw new CommandFailure(exitCodes.usage, message)
  })
  const view = flowView(record)
  if (flags.json) return voice.tell(view)
  voice.say(`${printable(flow)} ${printable(id)} goes on, ${doneOf(record)} done.`)
}

function doneOf({ units: { done, total } }: FlowRecord): string {
  return `${done} of ${total} units`
}

async function requireFlow(flows: FlowStore, key: FlowKey): Promise<FlowRecord> {
  const record = await flows.read(key)
  if (record === undefined) throw new MillraceError('flow_not_found')
  return record
}

function flowsOf({ backend }: OpenedStore): FlowStore {
  if (backend.flows === null) throw new MillraceError('unsupported')
  return backend.flows
}
