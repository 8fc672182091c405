/** `millrace alarm`: the alarms of a store, also while servers and workers use it. */
import type { Command } from 'commander'
import { type AlarmState, alarmStates } from '../../core/alarm-rule.ts'
import { didYouMean } from '../../core/did-you-mean.ts'
import { limits } from '../../core/limits.ts'
import { alarmTransitionView, alarmView } from '../../operations/alarms/alarm-view.ts'
import { type Alarms, createAlarms } from '../../operations/alarms/alarms.ts'
import { alarmSheet, alarmTable, alarmWord } from './alarm-sheet.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { oneOf, wholeNumberIn } from './option-values.ts'
import type { Shell } from './shell.ts'
import {
  type Call,
  inStore,
  newCommand,
  run,
  type StoreCall,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable, table } from './table.ts'
import { userName } from './user-name.ts'

interface ListFlags extends StoreFlags {
  readonly state?: AlarmState
}

interface HistoryFlags extends StoreFlags {
  readonly limit: number
  readonly after?: string
}

interface TestFlags extends StoreFlags {
  readonly state: AlarmState
  readonly by?: string
  readonly reason?: string
}

export function alarmCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'alarm',
    description: 'Alarms: their states, how these changed, and testing their actions.',
  })
  const list = storeCommand(command, {
    usage: 'list',
    description: 'Show the alarms of the store, those in ALARM first.',
    examples: ['alarm list', 'alarm list --state ALARM --json'],
  }).option('--state <state>', `only those in it: ${alarmStates.join(', ')}`, oneOf(alarmStates))
  run(shell, list, listAlarms)
  const show = { usage: 'show <alarm>', description: 'Show one alarm and what it waits for.' }
  run(shell, storeCommand(command, show), showAlarm)
  const history = storeCommand(command, {
    usage: 'history [alarm]',
    description: 'Show how states changed, newest first, of one alarm or of all.',
  })
    .option('--limit <number>', 'how many at most, 1 to 1000', wholeNumberIn(limits.pageSize), 20)
    .option('--after <text>', 'go on behind the page before')
  run(shell, history, showHistory)
  const test = storeCommand(command, {
    usage: 'test <alarm>',
    description:
      'Put an alarm into a state until its next evaluation, to see that its actions work.',
    examples: ['alarm test orders-dlq-not-empty --reason "fire drill"'],
  })
    .option('--state <state>', `one of ${alarmStates.join(', ')}`, oneOf(alarmStates), 'ALARM')
    .option('--by <who>', 'who does it, for the record (default: the user of this system)')
    .option('--reason <text>', 'why, for the record')
  run(shell, test, testAlarm)
}

const order: Readonly<Record<AlarmState, number>> = { ALARM: 0, INSUFFICIENT_DATA: 1, OK: 2 }

async function listAlarms({ flags, output, shell }: Call<ListFlags>): Promise<void> {
  const records = await inAlarms({ flags, shell }, (alarms) => alarms.list())
  const views = records
    .map(alarmView)
    .filter(({ state }) => flags.state === undefined || state === flags.state)
    .sort((one, other) => order[one.state] - order[other.state])
  if (flags.json) return output.json({ alarms: views })
  if (views.length === 0) return output.notice('No such alarms.')
  output.line(alarmTable(views, output.paint))
}

async function showAlarm({ flags, output, shell }: Call<StoreFlags>, name: string): Promise<void> {
  const view = await inAlarms({ flags, shell }, async (alarms) => {
    const record = await alarms.get(name)
    if (record === undefined) throw await missing(alarms, name)
    return alarmView(record)
  })
  if (flags.json) return output.json(view)
  output.line(alarmSheet(view, output.paint))
}

async function showHistory(
  { flags, output, shell }: Call<HistoryFlags>,
  alarm: string | undefined,
): Promise<void> {
  const { limit, after } = flags
  const request = {
    limit,
    ...(alarm !== undefined && { alarm }),
    ...(after !== undefined && { after }),
  }
  const { items, next = null } = await inAlarms({ flags, shell }, async (alarms) => {
    const page = await alarms.history(request)
    // One that is forgotten still has its history.
    const isKnown = alarm === undefined || page.items.length > 0 || after !== undefined
    if (!isKnown && (await alarms.get(alarm)) === undefined) throw await missing(alarms, alarm)
    return page
  })
  const rows = items.map(alarmTransitionView)
  if (flags.json) return output.json({ changes: rows, next })
  if (rows.length === 0) return output.notice('No state has changed in the last 90 days.')
  output.line(table(['at', 'alarm', 'from', 'to', 'reason'], rows))
  if (next !== null) output.notice(`There is more: --after ${next}`)
}

async function testAlarm({ flags, output, shell }: Call<TestFlags>, name: string): Promise<void> {
  const { state, reason, by = userName() } = flags
  const change = await inAlarms({ flags, shell }, async (alarms) => {
    if ((await alarms.get(name)) === undefined) throw await missing(alarms, name)
    return alarms.test(name, { state, by, ...(reason !== undefined && { reason }) })
  })
  if (flags.json) return output.json({ change: change ? alarmTransitionView(change) : null })
  if (change === undefined) return output.line(`It is ${alarmWord(state, output.paint)} already.`)
  const { from, to } = change
  output.line(
    `${printable(name)}: ${alarmWord(from, output.paint)} became ${alarmWord(to, output.paint)}.`,
  )
}

function inAlarms<T>(call: StoreCall, use: (alarms: Alarms) => Promise<T>): Promise<T> {
  return inStore(call, ({ backend }) => use(createAlarms({ backend })))
}

async function missing(alarms: Alarms, name: string): Promise<CommandFailure> {
  const names = (await alarms.list()).map(({ alarm }) => alarm)
  const message = `There is no alarm '${printable(name)}'${didYouMean(name, names) || '.'}`
  return new CommandFailure(exitCodes.notFound, message)
}
