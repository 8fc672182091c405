/** Flows as text: a table of flows, the details of one, and a table of its units. */
import type { FlowView, UnitView } from '../../operations/flow-view.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours } from './shell.ts'
import { labelledLines, printable, table } from './table.ts'

type Bold = Pick<Colours, 'bold'>

export function flowTable(flows: readonly FlowView[], paint: Bold): string {
  const rows = flows.map(({ flow, id, status, units, failure, overdue, opened_at }) => ({
    flow,
    id,
    status,
    done: `${units.done}/${units.total}`,
    dead: String(units.dead),
    overdue: overdue ? 'yes' : null,
    stopped_at: failure?.unit ?? null,
    opened_at,
  }))
  const columns = ['flow', 'id', 'status', 'done', 'dead', 'overdue', 'stopped_at', 'opened_at']
  const shown = table(columns, rows, { rightAligned: ['done', 'dead'] })
  return boldHead(shown, paint)
}

export function flowSheet(flow: FlowView, { bold }: Bold): string {
  const { units, failure, parent } = flow
  const lines = labelledLines([
    ['status', flow.status + (flow.sealed ? '' : ', not sealed')],
    ['units', `${units.total}`],
    ['done', `${units.done}`],
    ['pending', `${units.pending}`],
    ['dead', `${units.dead}`],
    ['stopped at', failure?.unit ?? null],
    ['because', failure?.reason ?? null],
    ['parent', parent && `${parent.unit} of ${parent.flow} ${parent.id}`],
    ['spent', spentText(flow.spent)],
    ['opened', flow.opened_at],
    ['deadline', flow.deadline_at && flow.deadline_at + (flow.overdue ? ', overdue' : '')],
    ['ended', flow.ended_at],
  ])
  return [bold(printable(`${flow.flow} ${flow.id}`)), ...lines].join('\n')
}

/** Amounts by budget: `llm 1200, mails 3`. Null if nothing was spent. */
export function spentText(spent: FlowView['spent']): string | null {
  const amounts = Object.entries(spent).map(([budget, amount]) => `${budget} ${amount}`)
  return amounts.join(', ') || null
}

export function unitTable(units: readonly UnitView[], paint: Bold): string {
  const columns = ['unit', 'state', 'marked_at', 'message_id', 'reason'] as const
  return boldHead(table(columns, units), paint)
}
