/** `millrace schedule`: lists, shows, pauses, resumes and removes schedules. */

import type { Command } from 'commander'
import type { ScheduleRecord } from '../../backends/schedule-store.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { supported } from '../../core/supported.ts'
import { type ScheduleControl, scheduleControl } from '../../flows/schedule-control.ts'
import { scheduleView } from '../../operations/schedule-view.ts'
import { wholeNumberIn } from './option-values.ts'
import { found } from './schedule-found.ts'
import { runScheduleCommand, setScheduleCommand } from './schedule-of-app.ts'
import { scheduleSheet, scheduleTable } from './schedule-sheet.ts'
import type { Shell } from './shell.ts'
import {
  type Call,
  type CommandText,
  inStore,
  newCommand,
  run,
  type StoreCall,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable } from './table.ts'
import { userName } from './user-name.ts'

interface SignedFlags extends StoreFlags {
  readonly by?: string
}

interface ListFlags extends StoreFlags {
  readonly prefix?: string
  readonly limit: number
  readonly after?: string
}

interface NextFlags extends StoreFlags {
  readonly count: number
}

export function scheduleCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'schedule',
    description: 'List, set, pause, resume, run and remove schedules.',
  })
  run(shell, listCommand(command), list)
  const showing = {
    usage: 'show <schedule>',
    description: 'Show a schedule: when it ticks, what it sends to, and its counts.',
    examples: ['schedule show reports-dev-nightly'],
  }
  run(shell, storeCommand(command, showing), show)
  setScheduleCommand(command, shell)
  const asking = {
    usage: 'next <schedule>',
    description: 'Show the next times at which a schedule fires (its ticks).',
    examples: ['schedule next reports-dev-nightly --count 5'],
  }
  const next = storeCommand(command, asking)
  run(shell, next.option('--count <number>', 'number of ticks, 1 to 1000', Number, 1), showNext)
  const pausing = {
    usage: 'pause <schedule>',
    description: 'Pause a schedule: it fires no more until you resume it.',
    examples: ['schedule pause reports-dev-nightly'],
  }
  run(shell, signedCommand(command, pausing), pause)
  const resuming = {
    usage: 'resume <schedule>',
    description: 'Resume a schedule from its next tick.',
    examples: ['schedule resume reports-dev-nightly'],
  }
  run(shell, signedCommand(command, resuming), resume)
  runScheduleCommand(command, shell)
  const removing = {
    usage: 'remove <schedule>',
    description: 'Remove a schedule that was set at run time.',
    examples: ['schedule remove reports-dev-digest/user-7'],
  }
  run(shell, storeCommand(command, removing), remove)
}

function listCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'list',
    description: 'List schedules by name.',
    examples: ['schedule list', 'schedule list --prefix reports-dev-digest/ --json'],
  })
    .option('--prefix <text>', 'only schedules whose name starts with this')
    .option('--limit <number>', 'maximum number to show', wholeNumberIn(limits.pageSize), 100)
    .option('--after <cursor>', 'start after this cursor, from the previous page')
}

function signedCommand(parent: Command, text: CommandText): Command {
  return storeCommand(parent, text).option(
    '--by <who>',
    'your name, to record (default: your user name)',
  )
}

async function list({ flags, output, shell }: Call<ListFlags>): Promise<void> {
  const { prefix, limit, after } = flags
  const request = {
    limit,
    ...(prefix !== undefined && { prefix }),
    ...(after !== undefined && { after }),
  }
  const { items, next = null } = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.schedules).list(request),
  )
  const schedules = items.map(scheduleView)
  if (flags.json) return output.json({ schedules, next })
  if (schedules.length === 0) return output.notice('No schedules found.')
  output.line(scheduleTable(schedules, output.paint))
  if (next !== null) output.notice(`To see more, add --after '${printable(next)}'`)
}

async function show({ flags, output, shell }: Call<StoreFlags>, schedule: string): Promise<void> {
  const record = await inControl({ flags, shell }, schedule, (control) => control.read())
  const view = scheduleView(record)
  if (flags.json) output.json(view)
  else output.line(scheduleSheet(view, output.paint))
}

async function remove({ flags, output, shell }: Call<StoreFlags>, schedule: string): Promise<void> {
  await inStore({ flags, shell }, (store) =>
    found(store, schedule, async () => {
      const control = scheduleControl(supported(store.backend.schedules), schedule)
      if (!(await control.remove())) throw new MillraceError('schedule_not_found')
    }),
  )
  if (flags.json) output.json({ name: schedule, removed: true })
  else output.line(`Removed ${printable(schedule)}.`)
}

async function showNext(
  { flags, output, shell }: Call<NextFlags>,
  schedule: string,
): Promise<void> {
  const { ticks, isPaused } = await inControl({ flags, shell }, schedule, async (control) => ({
    ticks: await control.next(flags.count),
    isPaused: (await control.read()).pausedAt !== null,
  }))
  const next = ticks.map((tick) => tick.toISOString())
  if (flags.json) return output.json({ name: schedule, paused: isPaused, next })
  if (isPaused) return output.notice(`${printable(schedule)} is paused.`)
  if (next.length === 0) return output.notice(`${printable(schedule)} has no more ticks.`)
  for (const tick of next) output.line(tick)
}

async function pause(call: Call<SignedFlags>, schedule: string): Promise<void> {
  const by = call.flags.by ?? userName()
  const { before, record } = await inControl(call, schedule, async (control) => ({
    before: await control.read(),
    record: await control.pause(by),
  }))
  const wasPaused = before.pausedAt !== null && before.pausedAt === record.pausedAt
  const name = printable(schedule)
  printResult(
    call,
    record,
    wasPaused ? `${name} is already paused, ${pauseText(record)}.` : `Paused ${name}.`,
  )
}

function pauseText(record: ScheduleRecord): string {
  const { paused_by, paused_at } = scheduleView(record)
  return printable(`by ${paused_by} since ${paused_at}`)
}

async function resume(call: Call<SignedFlags>, schedule: string): Promise<void> {
  const by = call.flags.by ?? userName()
  const record = await inControl(call, schedule, (control) => control.resume(by))
  const { next_at } = scheduleView(record)
  const name = printable(schedule)
  printResult(
    call,
    record,
    next_at === null ? `${name} has no more ticks.` : `${name} ticks next at ${next_at}.`,
  )
}

function printResult(
  { flags, output }: Call<StoreFlags>,
  record: ScheduleRecord,
  line: string,
): void {
  if (flags.json) output.json(scheduleView(record))
  else output.line(line)
}

function inControl<T>(
  call: StoreCall,
  schedule: string,
  use: (control: ScheduleControl) => Promise<T>,
): Promise<T> {
  return inStore(call, (store) =>
    found(store, schedule, () =>
      use(scheduleControl(supported(store.backend.schedules), schedule)),
    ),
  )
}
