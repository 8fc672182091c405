/** `millrace flow`: the flows and chains of a store. Works while workers run their units. */

import type { Command } from 'commander'
import type { FlowKey, FlowRecord, FlowStore, UnitKey } from '../../backends/flow-store.ts'
import { counted } from '../../core/counted.ts'
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
    description: 'Show, cancel and resume flows and chains.',
  })
  run(shell, listCommand(command), list)
  const showing = {
    usage: 'show <flow> <id>',
    description: 'Show the progress of a flow.',
    examples: ['flow show library-dev-extraction d-17'],
  }
  run(shell, storeCommand(command, showing), show)
  run(shell, unitsCommand(command), units)
  const cancelling = {
    usage: 'cancel <flow> <id>',
    description: 'Cancel an open flow, and delete its messages that no worker has received.',
    examples: ['flow cancel library-dev-extraction d-17 --yes'],
  }
  run(
    shell,
    storeCommand(command, cancelling).option('--yes', 'do not ask for confirmation'),
    cancel,
  )
  const resuming = {
    usage: 'resume <flow> <id> [unit]',
    description:
      'Send the message of a dead unit again (default: the unit at which the flow stopped).',
    examples: ['flow resume academy-dev-course c-5', 'flow resume academy-dev-course c-5 outline'],
  }
  run(shell, storeCommand(command, resuming), resume)
}

function listCommand(parent: Command): Command {
  const text = {
    usage: 'list',
    description: 'List flows, newest first.',
    examples: ['flow list --status failed', 'flow list --flow library-dev --overdue --json'],
  }
  return paged(storeCommand(parent, text))
    .option('--flow <name>', 'only flows whose name starts with this')
    .option(
      '--status <status>',
      `only flows with this status: ${statuses.join(', ')}`,
      oneOf(statuses),
    )
    .option('--overdue', 'only open flows past their deadline')
}

function unitsCommand(parent: Command): Command {
  const text = {
    usage: 'units <flow> <id>',
    description: 'List the units of a flow, in order.',
    examples: ['flow units library-dev-extraction d-17 --state pending'],
  }
  return paged(storeCommand(parent, text)).option(
    '--state <state>',
    `only units in this state: ${states.join(', ')}`,
    oneOf(states),
  )
}

function paged(command: Command): Command {
  return command
    .option('--limit <number>', 'maximum number to show', wholeNumberIn(limits.pageSize), 20)
    .option('--after <cursor>', 'start after this cursor, from the previous page')
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
  if (flows.length === 0) return output.notice('No flows found.')
  output.line(flowTable(flows, output.paint))
  if (next !== null) output.notice(`To see more, add --after ${next}`)
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
  if (shown.length === 0) return output.notice('No units found.')
  output.line(unitTable(shown, output.paint))
  if (next !== null) output.notice(`To see more, add --after ${next}`)
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
    return output.line(`${name} was already cancelled at ${view.ended_at}.`)
  }
  await confirm(shell, { question: `This will cancel ${name}.`, name: id, yes: flags.yes })
  const record = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.flows).cancel({ flow, id }),
  )
  if (flags.json) return output.json(flowView(record))
  output.line(`Cancelled ${name} with ${doneOf(record)} done.`)
}

async function resume(
  { flags, output, shell }: Call<StoreFlags>,
  flow: string,
  id: string,
  unit?: string,
): Promise<void> {
  const { record, place, wasPending } = await inStore({ flags, shell }, async (store) => {
    const flows = supported(store.backend.flows)
    const before = await requireFlow(flows, { flow, id })
    const place = unit ?? before.failure?.unit
    if (!place) {
      const message = 'The flow has not stopped at a unit. Name the unit to send again.'
      throw new CommandFailure(exitCodes.usage, message)
    }
    const key = { flow, id, unit: place }
    const wasPending = before.status === 'open' && (await isPending(flows, key))
    const record = await flows.resume(key).catch(withAdvice)
    return { record, place, wasPending }
  })
  if (flags.json) return output.json(flowView(record))
  const name = `${printable(flow)} ${printable(id)}`
  output.line(
    wasPending
      ? `Nothing was done: the unit ${printable(place)} of ${name} is waiting or running.`
      : `Resumed ${name} with ${doneOf(record)} done.`,
  )
}

/** Whether the unit has a message that waits for a worker or runs. */
async function isPending(flows: FlowStore, { flow, id, unit }: UnitKey): Promise<boolean> {
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

/** The command line cannot supply the work of a unit, so the error must name another way. */
function withAdvice(error: unknown): never {
  const needsWork =
    error instanceof MillraceError && error.violations.some(({ field }) => field === 'work')
  if (!needsWork) throw error
  const message =
    'The flow does not keep the messages of its units. Declare it with keepWork, or call resume in ' +
    'the app and pass the message.'
  throw new CommandFailure(exitCodes.usage, message)
}

function doneOf({ units: { done, total } }: FlowRecord): string {
  return `${done} of ${counted(total, 'unit')}`
}

async function requireFlow(flows: FlowStore, key: FlowKey): Promise<FlowRecord> {
  const record = await flows.read(key)
  if (record === undefined) throw new MillraceError('flow_not_found')
  return record
}
