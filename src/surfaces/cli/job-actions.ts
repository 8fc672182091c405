/** `millrace job cancel`, `retry`, `reschedule` and `promote`. */
import type { Command } from 'commander'
import type { JobRecord, JobStore, RescheduleJob } from '../../backends/job-store.ts'
import { dueOf } from '../../core/due-options.ts'
import { isFinished } from '../../core/job-state.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { inCallerNames } from '../../core/rename-fields.ts'
import { supported } from '../../core/supported.ts'
import { CommandFailure } from './command-failure.ts'
import { confirm } from './confirm.ts'
import { exitCodes } from './exit-codes.ts'
import { listedView, requireJob } from './job-found.ts'
import { durationIn, time } from './option-values.ts'
import type { Shell } from './shell.ts'
import { type Call, inStore, run, type StoreFlags, storeCommand } from './store-command.ts'
import { printable } from './table.ts'

interface CancelFlags extends StoreFlags {
  readonly yes?: true
}

interface RescheduleFlags extends StoreFlags {
  readonly delay?: number
  readonly runAt?: Date
}

const exampleId = '0199f1c2-0000-8000-8000-000000000001'

export function jobActions(parent: Command, shell: Shell): void {
  const cancelling = {
    usage: 'cancel <id>',
    description: 'Cancel a job that has not finished, even while it runs.',
    examples: [`job cancel ${exampleId} --yes`],
  }
  const asking = storeCommand(parent, cancelling).option('--yes', 'do not ask for confirmation')
  run(shell, asking, cancel)
  const retrying = {
    usage: 'retry <id>',
    description: 'Enqueue a failed or cancelled job again, as a new job. Prints its id.',
    examples: [`job retry ${exampleId}`],
  }
  run(shell, storeCommand(parent, retrying), retry)
  const moving = {
    usage: 'reschedule <id>',
    description: 'Let a job that waits be due at another time.',
    examples: [
      `job reschedule ${exampleId} --delay 2h`,
      `job reschedule ${exampleId} --run-at 2027-01-31T12:00:00Z`,
    ],
  }
  const timed = storeCommand(parent, moving)
    .option('--delay <duration>', 'how long from now', durationIn(limits.messageDelayMs))
    .option('--run-at <time>', 'the time, such as 2027-01-31T12:00:00Z', time)
  run(shell, timed, reschedule)
  const promoting = {
    usage: 'promote <id>',
    description: 'Let a job that waits be due now.',
    examples: [`job promote ${exampleId}`],
  }
  run(shell, storeCommand(parent, promoting), promote)
}

async function cancel(call: Call<CancelFlags>, id: string): Promise<void> {
  const { flags, output, shell } = call
  const before = await inJobs(call, (jobs) => requireJob(jobs, id))
  if (before.status === 'cancelled') {
    const view = listedView(before)
    if (flags.json) return output.json(view)
    return output.line(`${printable(id)} was already cancelled at ${view.finished_at}.`)
  }
  // A finished job is refused by the store, so there is nothing to confirm.
  if (!isFinished(before.status)) {
    const question = `This will cancel the ${printable(before.type)} job ${printable(id)}.`
    await confirm(shell, { question, name: id, yes: flags.yes })
  }
  const job = await inJobs(call, (jobs) => jobs.cancel({ id }))
  if (flags.json) return output.json(listedView(job))
  const { attemptsMade, maxAttempts } = job
  output.line(`Cancelled ${printable(id)} after ${attemptsMade} of ${maxAttempts} attempts.`)
}

async function retry(call: Call<StoreFlags>, id: string): Promise<void> {
  const { flags, output } = call
  const { id: retried, status } = await inJobs(call, (jobs) => jobs.retry({ id }))
  if (flags.json) return output.json({ id: retried, status, retry_of: id })
  output.line(retried)
}

async function reschedule(call: Call<RescheduleFlags>, id: string): Promise<void> {
  const due = dueFrom(call)
  const job = await inJobs(call, (jobs) => jobs.reschedule({ id, ...due }))
  printDue(call, job)
}

async function promote(call: Call<StoreFlags>, id: string): Promise<void> {
  printDue(call, await inJobs(call, (jobs) => jobs.promote({ id })))
}

function printDue({ flags, output }: Call<StoreFlags>, job: JobRecord): void {
  const view = listedView(job)
  if (flags.json) output.json(view)
  else output.line(`${job.id} is due ${view.run_at === null ? 'now' : `at ${view.run_at}`}.`)
}

function dueFrom({ flags, shell }: Call<RescheduleFlags>): Omit<RescheduleJob, 'id'> {
  const { delay, runAt } = flags
  if ((delay === undefined) === (runAt === undefined)) {
    throw new CommandFailure(exitCodes.usage, 'Pass --delay or --run-at, but not both.')
  }
  if (runAt === undefined) return delay === undefined ? {} : { delayMs: delay }
  try {
    return dueOf({ runAt }, shell.ports.clock)
  } catch (error) {
    const renamed = inCallerNames(error, new Map([['runAt', '--run-at']]))
    if (!(renamed instanceof MillraceError)) throw renamed
    throw new CommandFailure(exitCodes.usage, renamed.message)
  }
}

function inJobs<T>(call: Call<StoreFlags>, use: (jobs: JobStore) => Promise<T>): Promise<T> {
  return inStore(call, ({ backend }) => use(supported(backend.jobs)))
}
