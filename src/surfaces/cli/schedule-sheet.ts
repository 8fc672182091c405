/** Schedules as text: a table of schedules, and the details of one. */
import type { ScheduleView } from '../../operations/schedule-view.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours } from './shell.ts'
import { labelledLines, printable, table } from './table.ts'

type Bold = Pick<Colours, 'bold'>

export function scheduleTable(views: readonly ScheduleView[], paint: Bold): string {
  const rows = views.map(({ declared, ticks, skipped, failed, ...view }) => ({
    ...view,
    kind: declared ? 'declared' : 'set',
    ticks: String(ticks),
    skipped: String(skipped),
    failed: String(failed),
  }))
  const numbers = ['ticks', 'skipped', 'failed'] as const
  const columns = ['name', 'rule', 'kind', 'next_at', 'last_at', ...numbers, 'paused_by'] as const
  return boldHead(table(columns, rows, { rightAligned: numbers }), paint)
}

export function scheduleSheet(view: ScheduleView, { bold }: Bold): string {
  const lines = labelledLines([
    ['rule', view.rule],
    ['kind', view.declared ? 'declared' : 'set at run time'],
    ['queue', view.queue],
    ['type', view.type],
    ['next', view.next_at],
    ['last', view.last_at],
    ['ticks', `${view.ticks}`],
    ['skipped', `${view.skipped}`],
    ['failed', `${view.failed}`],
    ['last error', view.last_error],
    ['paused', view.paused_at && `${view.paused_at} by ${view.paused_by}`],
    ['resumed', view.resumed_at && `${view.resumed_at} by ${view.resumed_by}`],
    ['run by hand', view.ran_at && `${view.ran_at} by ${view.ran_by}`],
  ])
  return [bold(printable(view.name)), ...lines].join('\n')
}
