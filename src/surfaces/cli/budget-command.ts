/** `millrace budget`: what handlers have spent. Works on the budgets that apps have declared in the store. */
import type { Command } from 'commander'
import { limits } from '../../core/limits.ts'
import {
  type BudgetView,
  budgetResetView,
  budgetView,
  spentBudgetView,
} from '../../operations/budget-view.ts'
import { type Budgets, createBudgets } from '../../operations/budgets.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { wholeNumberIn } from './option-values.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours, Shell } from './shell.ts'
import {
  type Call,
  inStore,
  newCommand,
  run,
  type StoreCall,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { labelledLines, printable, table } from './table.ts'
import { userName } from './user-name.ts'

interface ResetFlags extends StoreFlags {
  readonly by?: string
  readonly note?: string
}

interface HistoryFlags extends StoreFlags {
  readonly limit: number
  readonly after?: string
}

export function budgetCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'budget',
    description: 'Show, reset and add to what handlers have spent.',
  })
  const listing = { usage: 'list', description: 'List budgets with their spending.' }
  run(shell, storeCommand(command, listing), list)
  const showing = {
    usage: 'show <budget>',
    description: 'Show a budget.',
    examples: ['budget show llm'],
  }
  run(shell, storeCommand(command, showing), show)
  const resetting = {
    usage: 'reset <budget>',
    description: 'Start at 0 again, and lift the switch if this budget has turned it on.',
    examples: ["budget reset llm --note 'limit raised for the exam'"],
  }
  run(
    shell,
    storeCommand(command, resetting)
      .option('--by <who>', 'your name, to record (default: your user name)')
      .option('--note <text>', 'reason to record'),
    reset,
  )
  const spending = {
    usage: 'spend <budget> <amount>',
    description: 'Add to the spending of a budget, in its unit.',
    examples: ['budget spend llm 1200'],
  }
  run(shell, storeCommand(command, spending), spend)
  const historyText = {
    usage: 'history <budget>',
    description: 'Show who reset a budget and when, newest first.',
  }
  run(
    shell,
    storeCommand(command, historyText)
      .option('--limit <number>', 'maximum number to show', wholeNumberIn(limits.pageSize), 20)
      .option('--after <cursor>', 'start after this cursor, from the previous page'),
    history,
  )
}

function inBudgets<T>(
  { flags, shell }: StoreCall,
  use: (budgets: Budgets) => Promise<T>,
): Promise<T> {
  return inStore({ flags, shell }, ({ backend }) => use(createBudgets({ backend })))
}

async function list(call: Call<StoreFlags>): Promise<void> {
  const { flags, output } = call
  const views = (await inBudgets(call, (budgets) => budgets.list())).map(budgetView)
  if (flags.json) return output.json({ budgets: views })
  if (views.length === 0) return output.notice('The store has no budgets.')
  output.line(budgetTable(views, output.paint))
}

async function show(call: Call<StoreFlags>, name: string): Promise<void> {
  const { flags, output } = call
  const view = budgetView(await inBudgets(call, (budgets) => budgets.read(name)))
  if (flags.json) return output.json(view)
  output.line(budgetSheet(view, output.paint))
}

async function reset(call: Call<ResetFlags>, name: string): Promise<void> {
  const { flags, output } = call
  const { by = userName(), note } = flags
  const options = { by, ...(note !== undefined && { note }) }
  const record = await inBudgets(call, (budgets) => budgets.reset(name, options))
  if (flags.json) return output.json(budgetView(record))
  output.line(`Reset ${printable(name)}.`)
}

async function spend(call: Call<StoreFlags>, name: string, given: string): Promise<void> {
  const { flags, output } = call
  const amount = amountOf(given)
  const view = spentBudgetView(await inBudgets(call, (budgets) => budgets.spend(name, amount)))
  if (flags.json) return output.json(view)
  output.line(printable(`${name}: ${spendingOf(view)}`))
  if (view.turned_on) output.notice(printable(`The switch ${view.trips} is on now.`))
}

async function history(call: Call<HistoryFlags>, name: string): Promise<void> {
  const { flags, output } = call
  const { limit, after } = flags
  const page = { limit, ...(after !== undefined && { after }) }
  const { items, next = null } = await inBudgets(call, (budgets) => budgets.history(name, page))
  const resets = items.map(budgetResetView)
  if (flags.json) return output.json({ resets, next })
  if (resets.length === 0) return output.notice(`${printable(name)} was never reset.`)
  const rows = resets.map((one) => ({ ...one, spent: String(one.spent) }))
  output.line(table(['at', 'by', 'spent', 'note'], rows, { rightAligned: ['spent'] }))
  if (next !== null) output.notice(`To see more, add --after ${next}`)
}

/** `Number` would also accept '', ' 5' and '0x10'. */
function amountOf(text: string): number {
  if (/^-?\d+(\.\d+)?(e\d+)?$/i.test(text)) return Number(text)
  const message = `'${printable(text)}' is not an amount. Use a number such as 12.5.`
  throw new CommandFailure(exitCodes.usage, message)
}

function budgetTable(views: readonly BudgetView[], paint: Pick<Colours, 'bold'>): string {
  const rows = views.map(({ spent, limit, tripped, ...view }) => ({
    ...view,
    spent: String(spent),
    limit: String(limit),
    tripped: tripped ? 'yes' : null,
  }))
  const numbers = ['spent', 'limit'] as const
  const columns = [
    'name',
    ...numbers,
    'unit',
    'per',
    'ends_at',
    'tripped',
    'trips',
    'scope',
  ] as const
  return boldHead(table(columns, rows, { rightAligned: numbers }), paint)
}

function budgetSheet(view: BudgetView, { bold }: Pick<Colours, 'bold'>): string {
  const { name, per, ends_at, tripped, trips, mode, scope } = view
  const lines = labelledLines([
    ['spent', spendingOf(view) + (tripped ? ', limit reached' : '')],
    ['per', per],
    ['ends', ends_at],
    ['trips', `${trips} (${mode})`],
    ['declared by', scope],
  ])
  return [bold(printable(name)), ...lines].join('\n')
}

function spendingOf({ spent, limit, unit }: BudgetView): string {
  return `${spent} of ${limit}${unit === null ? '' : ` ${unit}`}`
}
