/** `millrace schedule set` and `run`: they need the app, which has the contracts of its queues. */
import { type Command, InvalidArgumentError } from 'commander'
import { resolveQueues } from '../../contracts/resolve-queues.ts'
import type { RuntimeSchedule } from '../../contracts/schedule-types.ts'
import { limits } from '../../core/limits.ts'
import { planSchedules, type SchedulePlan } from '../../flows/planned-schedules.ts'
import { createSchedules, type ScheduleMethods } from '../../flows/schedules.ts'
import { silentLogger } from '../../observability/logger.ts'
import { type AppFlags as AppOptions, addAppOptions, appOf } from './app-options.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { oneOf, time, wholeNumberIn } from './option-values.ts'
import { found } from './schedule-found.ts'
import type { Shell } from './shell.ts'
import {
  type Call,
  inStore,
  type OpenStore,
  run,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable } from './table.ts'
import { userName } from './user-name.ts'

interface AppFlags extends StoreFlags, AppOptions {}

interface RunFlags extends AppFlags {
  readonly by?: string
}

interface SetFlags extends AppFlags {
  readonly cron?: string
  readonly timezone?: string
  readonly every?: string
  readonly queue: string
  readonly type?: string
  readonly payload?: unknown
  readonly missed?: 'skip' | 'once' | 'all'
  readonly until?: Date
  readonly group?: string
  readonly owner?: string
  readonly tenant?: string
  readonly tier?: string
  readonly attempts?: number
}

export function setScheduleCommand(parent: Command, shell: Shell): void {
  const text = {
    usage: 'set <name>',
    description: 'Create or change a schedule at run time. Needs the app.',
    examples: [
      `schedule set digest/user-7 --cron '0 8 * * *' --timezone Europe/Berlin --queue mail --type DIGEST --payload '{"user":7}' --app src/app.ts`,
    ],
  }
  const command = appOptions(storeCommand(parent, text))
    .option('--cron <expression>', 'when it ticks: a cron expression')
    .option('--timezone <zone>', 'IANA time zone of the cron expression (default: UTC)')
    .option('--every <duration>', 'when it ticks: an interval such as 1h, instead of --cron')
    .requiredOption('--queue <key>', 'key of the queue in the app')
    .option('--type <type>', 'job type, if the queue is a jobs queue')
    .option('--payload <json>', 'message or payload (default: the time of the tick)', jsonValue)
    .option(
      '--missed <policy>',
      'what to do with missed ticks: skip, once, all',
      oneOf(['skip', 'once', 'all']),
    )
    .option('--until <time>', 'when it ends, such as 2027-01-31T00:00:00Z', time)
    .option('--group <group>', 'group of the messages, on a FIFO queue')
    .option('--owner <owner>', 'owner of the jobs')
    .option('--tenant <tenant>', 'tenant of the jobs')
    .option('--tier <tier>', 'tier of the jobs')
    .option('--attempts <number>', 'attempts of each job', wholeNumberIn(limits.jobAttempts))
  run(shell, command, set)
}

export function runScheduleCommand(parent: Command, shell: Shell): void {
  const text = {
    usage: 'run <schedule>',
    description: 'Send the message of a schedule now, besides its ticks. Needs the app.',
    examples: ['schedule run reports-dev-nightly --app src/app.ts'],
  }
  const command = storeCommand(parent, text).option(
    '--by <who>',
    'your name, to record (default: your user name)',
  )
  run(shell, appOptions(command), runNow)
}

function appOptions(command: Command): Command {
  return addAppOptions(command, 'file that exports the app with this schedule')
}

function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('Use JSON.')
  }
}

async function set(call: Call<SetFlags>, name: string): Promise<void> {
  const { flags, output } = call
  const shown = await withSchedules(call, async ({ methods, plan }) => {
    // The app is not known to the compiler. What it has is checked at run time.
    const schedule = scheduleFrom(flags) as RuntimeSchedule
    return { change: await methods.set(name, schedule), stored: plan.storedName(name) }
  })
  if (flags.json) output.json({ name: shown.stored, status: shown.change })
  else output.line(`${printable(shown.stored)}: ${shown.change}`)
}

function scheduleFrom(flags: SetFlags): object {
  const { queue, type, group, owner, tenant, tier, attempts } = flags
  const { cron, timezone, every, payload, missed, until } = flags
  const job = given({ queue, type, owner, tenant, tier, attempts })
  const isJob = type !== undefined
  return given({
    ...{ cron, timezone, every, payload, missed, until },
    // Options that do not fit the queue are refused with the rest.
    ...(isJob ? { job } : { send: given({ queue, group, owner, tenant, tier, attempts }) }),
  })
}

/** Without options that were not given. */
function given<Options extends object>(options: Options): Partial<Options> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Partial<Options>
}

async function runNow(call: Call<RunFlags>, schedule: string): Promise<void> {
  const { flags, output } = call
  const { by = userName() } = flags
  const { stored, id } = await withSchedules(call, async ({ methods, plan, store }) => {
    const { name, stored } = namesOf(plan, schedule)
    const id = await found(store, stored, () => methods.get(name).runNow({ by }))
    return { stored, id }
  })
  if (flags.json) output.json({ name: stored, id })
  else output.line(id)
}

/** A schedule may be named as in the app, or as in the store. */
function namesOf(
  plan: SchedulePlan,
  given: string,
): { readonly name: string; readonly stored: string } {
  const declared = plan.declared.find(({ key, name }) => key === given || name === given)
  if (declared !== undefined) return { name: declared.key, stored: declared.name }
  const isStored = given.startsWith(plan.storedName(''))
  const name = isStored ? plan.nameOf({ schedule: given }) : given
  return { name, stored: plan.storedName(name) }
}

interface OpenSchedules {
  readonly methods: ScheduleMethods
  readonly plan: SchedulePlan
  readonly store: OpenStore
}

async function withSchedules<T>(
  { flags, shell }: Pick<Call<AppFlags>, 'flags' | 'shell'>,
  use: (schedules: OpenSchedules) => Promise<T>,
): Promise<T> {
  const staged = await appOf({ flags, shell })
  if (staged === undefined) {
    const message = 'The app declares the message that a schedule sends. Name its file with --app.'
    throw new CommandFailure(exitCodes.usage, message)
  }
  const { app, stage } = staged
  return inStore({ flags, shell }, (store) => {
    const { queues } = resolveQueues(app, stage)
    const { backend } = store
    const { ports } = shell
    const plan = planSchedules({ app, stage, queues, backend, ports })
    const methods = createSchedules({ app, plan, backend, ids: ports.ids, log: silentLogger })
    return use({ methods, plan, store })
  })
}
