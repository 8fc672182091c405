/** `millrace alarm`: the alarms of a store. Works while servers and workers use the store. */
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
    description: 'Show alarms and their history, and test their actions.',
  })
  const list = storeCommand(command, {
    usage: 'list',
    description: 'List the alarms, those in ALARM first.',
    examples: ['alarm list', 'alarm list --state ALARM --json'],
  }).option(
    '--state <state>',
    `only alarms in this state: ${alarmStates.join(', ')}`,
    oneOf(alarmStates),
  )
  run(shell, list, listAlarms)
  const show = {
    usage: 'show <alarm>',
    description: 'Show one alarm with its condition and actions.',
    examples: ['alarm show orders-dlq-not-empty'],
  }
  run(shell, storeCommand(command, show), showAlarm)
  const history = storeCommand(command, {
    usage: 'history [alarm]',
    description: 'Show state changes of one alarm or of all alarms, newest first.',
  })
    .option(
      '--limit <number>',
      'maximum number to show, 1 to 1000',
      wholeNumberIn(limits.pageSize),
      20,
    )
    .option('--after <cursor>', 'start after this cursor, from the previous page')
  run(shell, history, showHistory)
  const test = storeCommand(command, {
    usage: 'test <alarm>',
    description: 'Set the state of an alarm until its next evaluation, to test its actions.',
    examples: ['alarm test orders-dlq-not-empty --reason "fire drill"'],
  })
    .option(
      '--state <state>',
      `state to set: ${alarmStates.join(', ')}`,
      oneOf(alarmStates),
      'ALARM',
    )
    .option('--by <who>', 'your name, to record (default: your user name)')
    .option('--reason <text>', 'reason to record')
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
  if (views.length === 0) return output.notice('No alarms found.')
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
    // A removed alarm still has its history.
    const isKnown = alarm === undefined || page.items.length > 0 || after !== undefined
    if (!isKnown && (await alarms.get(alarm)) === undefined) throw await missing(alarms, alarm)
    return page
  })
  const rows = items.map(alarmTransitionView)
  if (flags.json) return output.json({ changes: rows, next })
  if (rows.length === 0) return output.notice('No state changes in the last 90 days.')
  output.line(table(['at', 'alarm', 'from', 'to', 'reason'], rows))
  if (next !== null) output.notice(`To see more, add --after ${next}`)
}

async function testAlarm({ flags, output, shell }: Call<TestFlags>, name: string): Promise<void> {
  const { state, reason, by = userName() } = flags
  const change = await inAlarms({ flags, shell }, async (alarms) => {
    if ((await alarms.get(name)) === undefined) throw await missing(alarms, name)
    return alarms.test(name, { state, by, ...(reason !== undefined && { reason }) })
  })
  if (flags.json) return output.json({ change: change ? alarmTransitionView(change) : null })
  if (change === undefined)
    return output.line(`The alarm is already in ${alarmWord(state, output.paint)}.`)
  const { from, to } = change
  output.line(
    `${printable(name)} changed from ${alarmWord(from, output.paint)} to ${alarmWord(to, output.paint)}.`,
  )
}

function inAlarms<T>(call: StoreCall, use: (alarms: Alarms) => Promise<T>): Promise<T> {
  return inStore(call, ({ backend }) => use(createAlarms({ backend })))
}

async function missing(alarms: Alarms, name: string): Promise<CommandFailure> {
  const names = (await alarms.list()).map(({ alarm }) => alarm)
  const message = `The alarm '${printable(name)}' does not exist${didYouMean(name, names) || '.'}`
  return new CommandFailure(exitCodes.notFound, message)
}
