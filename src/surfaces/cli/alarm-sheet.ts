/** Alarms as text: a table of all alarms, and the details of one. */
import type { AlarmState } from '../../core/alarm-rule.ts'
import type { AlarmActionView, AlarmView } from '../../operations/alarms/alarm-view.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours } from './shell.ts'
import { type Detail, detailLines, printable, table } from './table.ts'

export function alarmTable(alarms: readonly AlarmView[], paint: Pick<Colours, 'bold'>): string {
  const columns = ['state', 'severity', 'name', 'of', 'condition', 'since'] as const
  return boldHead(table(columns, alarms), paint)
}

export function alarmSheet(alarm: AlarmView, paint: Colours): string {
  const lines: readonly Detail[] = [
    ['severity', alarm.severity],
    ['since', alarm.since],
    ['reason', alarm.reason],
    ['description', alarm.description],
    ['watches', `${alarm.metric} of ${alarm.of}`],
    ['condition', `${alarm.statistic} of ${alarm.condition}`],
    ['missing data', alarm.treat_missing_data],
    ['actions', alarm.actions.map(actionText).join('; ') || 'log only'],
    ['declared by', alarm.owner],
    ['evaluated', alarm.evaluated_at ?? 'not yet'],
  ]
  const head = `${paint.bold(printable(alarm.name))}  ${alarmWord(alarm.state, paint)}`
  return [head, ...detailLines(lines)].join('\n')
}

export function alarmWord(
  state: AlarmState,
  { red, green, yellow }: Pick<Colours, 'red' | 'green' | 'yellow'>,
): string {
  if (state === 'ALARM') return red(state)
  return state === 'OK' ? green(state) : yellow(state)
}

function actionText({ kind, target, on }: AlarmActionView): string {
  return `${kind} ${target} on ${on.join(', ')}`
}
