/** `millrace flow`: the flows and chains of a store, also while workers do their units. */

import type { Command } from 'commander'
import type { FlowKey, FlowRecord, FlowStore, UnitKey } from '../../backends/flow-store.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { supported } from '../../core/supported.ts'
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

async function list({ flags, output, shell }: Call<ListFlags>): Promise<void> {
  const { flow: prefix = '', status, overdue, limit, after } = flags
  const request = {
    prefix,
    limit,
    ...(status !== undefined && { status }),
    ...(overdue !== undefined && { overdue }),
    ...(after !== undefined && { after }),
  }
  const { items, next = null } = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.flows).list(request),
  )
  const flows = items.map(flowView)
  if (flags.json) return output.json({ flows, next })
  if (flows.length === 0) return output.notice('There is no such flow.')
  output.line(flowTable(flows, output.paint))
  if (next !== null) output.notice(`There is more: --after ${next}`)
}

async function show(
  { flags, output, shell }: Call<StoreFlags>,
  flow: string,
  id: string,
): Promise<void> {
  const record = await inStore({ flags, shell }, ({ backend }) =>
    requireFlow(supported(backend.flows), { flow, id }),
  )
  const view = flowView(record)
  if (flags.json) return output.json(view)
  output.line(flowSheet(view, output.paint))
}

async function units(
  { flags, output, shell }: Call<UnitFlags>,
  flow: string,
  id: string,
): Promise<void> {
  const { state, limit, after } = flags
  const request = {
    flow,
    id,
    limit,
    ...(state !== undefined && { state }),
    ...(after !== undefined && { after }),
  }
  const { items, next = null } = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.flows).units(request),
  )
  const shown = items.map(unitView)
  if (flags.json) return output.json({ units: shown, next })
  if (shown.length === 0) return output.notice('There is no such unit.')
  output.line(unitTable(shown, output.paint))
  if (next !== null) output.notice(`There is more: --after ${next}`)
}

async function cancel(
  { flags, output, shell }: Call<CancelFlags>,
  flow: string,
  id: string,
): Promise<void> {
  const name = `${printable(flow)} ${printable(id)}`
  const before = await inStore({ flags, shell }, ({ backend }) =>
    requireFlow(supported(backend.flows), { flow, id }),
  )
  if (before.status === 'cancelled') {
    const view = flowView(before)
    if (flags.json) return output.json(view)
    return output.line(`${name} is cancelled already, since ${view.ended_at}.`)
  }
  await confirm(shell, { question: `This ends ${name} for good.`, name: id, yes: flags.yes })
  const record = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.flows).cancel({ flow, id }),
  )
  if (flags.json) return output.json(flowView(record))
  output.line(`Cancelled ${name}, ${doneOf(record)} done.`)
}

async function resume(
  { flags, output, shell }: Call<StoreFlags>,
  flow: string,
  id: string,
  unit?: string,
): Promise<void> {
  const { record, place, wasUnderWay } = await inStore({ flags, shell }, async (store) => {
    const flows = supported(store.backend.flows)
    const before = await requireFlow(flows, { flow, id })
    const place = unit ?? before.failure?.unit
    if (!place) {
      const message = 'The flow has not stopped at a unit. Name one to do it once more.'
      throw new CommandFailure(exitCodes.usage, message)
    }
    const key = { flow, id, unit: place }
    const wasUnderWay = before.status === 'open' && (await isUnderWay(flows, key))
    const record = await flows.resume(key).catch(withAdvice)
    return { record, place, wasUnderWay }
  })
  if (flags.json) return output.json(flowView(record))
  const name = `${printable(flow)} ${printable(id)}`
  output.line(
    wasUnderWay
      ? `Nothing was done: ${printable(place)} of ${name} has its work and has not ended.`
      : `${name} goes on, ${doneOf(record)} done.`,
  )
}

/** Its work is there: it waits for a worker, or one has it. */
async function isUnderWay(flows: FlowStore, { flow, id, unit }: UnitKey): Promise<boolean> {
  let after: string | undefined
  do {
    const limit = limits.pageSize.max
    const page = {
      flow,
      id,
      state: 'pending',
      limit,
      ...(after !== undefined && { after }),
    } as const
    const { items, next } = await flows.units(page)
    const found = items.find((one) => one.unit === unit)
    if (found !== undefined) return found.messageId !== null
    after = next
  } while (after !== undefined)
  return false
}

/** The command has no work to give. */
function withAdvice(error: unknown): never {
  const needsWork =
    error instanceof MillraceError && error.violations.some(({ field }) => field === 'work')
  if (!needsWork) throw error
  const message =
    'The flow does not remember the work of its units. Declare it with keepWork, or resume it in ' +
    'the app and give the work along.'
  throw new CommandFailure(exitCodes.usage, message)
}

function doneOf({ units: { done, total } }: FlowRecord): string {
  return `${done} of ${total} units`
}

async function requireFlow(flows: FlowStore, key: FlowKey): Promise<FlowRecord> {
  const record = await flows.read(key)
  if (record === undefined) throw new MillraceError('flow_not_found')
  return record
}
