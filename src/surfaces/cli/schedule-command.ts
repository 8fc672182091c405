/** `millrace schedule`: lists, pauses, resumes and runs schedules. */

import { type Command, Option } from 'commander'
import type { ScheduleRecord } from '../../backends/schedule-store.ts'
import { resolveQueues } from '../../contracts/resolve-queues.ts'
import { didYouMean } from '../../core/did-you-mean.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { supported } from '../../core/supported.ts'
import { type ScheduleControl, scheduleControl } from '../../flows/schedule-control.ts'
import { createSchedules, type ScheduleHandle } from '../../flows/schedules.ts'
import { silentLogger } from '../../observability/logger.ts'
import { type ScheduleView, scheduleView } from '../../operations/schedule-view.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours, Shell } from './shell.ts'
import {
  type Call,
  type CommandText,
  inStore,
  newCommand,
  type OpenStore,
  run,
  type StoreCall,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable, table } from './table.ts'
import { userName } from './user-name.ts'

interface SignedFlags extends StoreFlags {
  readonly by?: string
}

interface RunFlags extends SignedFlags {
  readonly app?: string
  readonly stage?: string
}

interface NextFlags extends StoreFlags {
  readonly count: number
}

export function scheduleCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'schedule',
    description: 'List, pause, resume and run schedules.',
  })
  const listing = { usage: 'list', description: 'List all schedules.' }
  run(shell, storeCommand(command, listing), list)
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
  run(shell, runCommand(command), runNow)
}

function signedCommand(parent: Command, text: CommandText): Command {
  return storeCommand(parent, text).option(
    '--by <who>',
    'your name, to record (default: your user name)',
  )
}

function runCommand(parent: Command): Command {
  return signedCommand(parent, {
    usage: 'run <schedule>',
    description: 'Send the message of a schedule now, besides its ticks. Needs the app.',
    examples: ['schedule run reports-dev-nightly --app src/app.ts'],
  })
    .addOption(
      new Option('--app <module>', 'file that exports the app with this schedule').env(
        'MILLRACE_APP',
      ),
    )
    .addOption(new Option('--stage <name>', 'stage of the app').env('MILLRACE_STAGE'))
}

async function list({ flags, output, shell }: Call<StoreFlags>): Promise<void> {
  const schedules = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.schedules).list({}),
  )
  const views = schedules.map(scheduleView)
  if (flags.json) return output.json({ schedules: views })
  if (views.length === 0) return output.notice('The store has no schedules.')
  output.line(scheduleTable(views, output.paint))
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

async function runNow({ flags, output, shell }: Call<RunFlags>, schedule: string): Promise<void> {
  const { app: path, by = userName() } = flags
  if (!path) {
    const message = 'The app declares the message that a schedule sends. Name its file with --app.'
    throw new CommandFailure(exitCodes.usage, message)
  }
  const { loadAppAtStage } = await shell.platform.apps()
  const { environment } = shell
  const { app, stage } = await loadAppAtStage(path, {
    environment,
    ...(flags.stage && { stage: flags.stage }),
  })
  const { name, id } = await inStore({ flags, shell }, async (store) => {
    const { queues } = resolveQueues(app, stage)
    const setup = { app, stage, queues, ports: shell.ports, log: silentLogger }
    const handles: Readonly<Record<string, ScheduleHandle>> = createSchedules({
      ...setup,
      backend: store.backend,
    })
    const handle = handleFor(handles, schedule)
    const sent = await found(store, handle.name, handle.runNow({ by }))
    return { name: handle.name, id: sent }
  })
  if (flags.json) output.json({ name, id })
  else output.line(id)
}

/** By its key in the app, or by its name in the store. */
function handleFor(
  handles: Readonly<Record<string, ScheduleHandle>>,
  schedule: string,
): ScheduleHandle {
  const found = Object.entries(handles).find(
    ([key, { name }]) => key === schedule || name === schedule,
  )
  if (found !== undefined) return found[1]
  const message = `The app has no schedule '${printable(schedule)}'.`
  throw new CommandFailure(exitCodes.notFound, message)
}

function inControl<T>(
  call: StoreCall,
  schedule: string,
  use: (control: ScheduleControl) => Promise<T>,
): Promise<T> {
  return inStore(call, (store) =>
    found(store, schedule, use(scheduleControl(supported(store.backend.schedules), schedule))),
  )
}

/** Rejects with an error that names the missing schedule and suggests one with a similar name. */
async function found<T>(store: OpenStore, schedule: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'schedule_not_found') throw error
    const names = (await supported(store.backend.schedules).list({})).map(
      (record) => record.schedule,
    )
    const hint = didYouMean(schedule, names)
    const message = `The schedule '${printable(schedule)}' does not exist${hint || '.'}`
    throw new CommandFailure(exitCodes.notFound, message)
  }
}

function scheduleTable(views: readonly ScheduleView[], paint: Pick<Colours, 'bold'>): string {
  const rows = views.map(({ ticks, skipped, failed, ...view }) => ({
    ...view,
    ticks: String(ticks),
    skipped: String(skipped),
    failed: String(failed),
  }))
  const numbers = ['ticks', 'skipped', 'failed'] as const
  const columns = ['name', 'rule', 'next_at', 'last_at', ...numbers, 'paused_by'] as const
  return boldHead(table(columns, rows, { rightAligned: numbers }), paint)
}
