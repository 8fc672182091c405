/** `millrace job`: the tracked jobs of a store, why they failed, what their handlers logged, and changing them. */

import type { Command } from 'commander'
import type { Backend } from '../../backends/backend.ts'
import type { JobRecord } from '../../backends/job-store.ts'
import { jobStatuses } from '../../core/job-state.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { supported } from '../../core/supported.ts'
import { attemptView, logLineView } from '../../operations/job-view.ts'
import { jsonOf, masked, maskMessage } from '../../operations/mask-payload.ts'
import { addReveal, hiddenIn, type RevealFlags } from './hidden-fields.ts'
import { jobActions } from './job-actions.ts'
import { listedView, requireJob } from './job-found.ts'
import { jobSheet, jobTable, logLines } from './job-sheet.ts'
import { oneOf, wholeNumberIn } from './option-values.ts'
import type { Shell } from './shell.ts'
import {
  type Call,
  inStore,
  newCommand,
  run,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'

interface ListFlags extends StoreFlags {
  readonly status?: JobRecord['status']
  readonly type?: string
  readonly owner?: string
  readonly limit: number
  readonly after?: string
}

interface ShowFlags extends StoreFlags, RevealFlags {}

export function jobCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'job',
    description: 'Show, cancel, retry and reschedule jobs.',
  })
  run(shell, listCommand(command), list)
  const showing = {
    usage: 'show <id>',
    description: 'Show a job with its attempts, their errors and their log lines.',
    examples: ['job show 0199f1c2-0000-8000-8000-000000000001'],
  }
  run(shell, addReveal(storeCommand(command, showing)), show)
  const logging = {
    usage: 'logs <id>',
    description: 'Show the lines that the handlers of a job have logged.',
    examples: ['job logs 0199f1c2-0000-8000-8000-000000000001 --json'],
  }
  run(shell, storeCommand(command, logging), logs)
  jobActions(command, shell)
}

function listCommand(parent: Command): Command {
  const text = {
    usage: 'list <queue>',
    description: 'List the jobs of a queue, newest first.',
    examples: ['job list academy-dev-scans --status failed'],
  }
  return storeCommand(parent, text)
    .option(
      '--status <status>',
      `only jobs with this status: ${jobStatuses.join(', ')}`,
      oneOf(jobStatuses),
    )
    .option('--type <type>', 'only jobs of this type')
    .option('--owner <owner>', 'only jobs of this owner')
    .option('--limit <number>', 'maximum number to show', wholeNumberIn(limits.pageSize), 20)
    .option('--after <cursor>', 'start after this cursor, from the previous page')
}

async function list(call: Call<ListFlags>, queue: string): Promise<void> {
  const { flags, output, shell } = call
  const { status, type, owner, limit, after } = flags
  const filters = {
    ...(status !== undefined && { status }),
    ...(type !== undefined && { type }),
    ...(owner !== undefined && { owner }),
    ...(after !== undefined && { after }),
  }
  const { items, next = null } = await inStore(
    call,
    ({ backend }) => supported(backend.jobs).list({ queue, limit, ...filters }),
    { queue },
  )
  const jobs = items.map(listedView)
  if (flags.json) return output.json({ jobs, next })
  if (jobs.length === 0) output.notice('No jobs found.')
  else output.line(jobTable(shell, jobs, output.paint))
  if (next !== null) output.notice(`To see more, add --after ${next}`)
}

async function show(call: Call<ShowFlags>, id: string): Promise<void> {
  const { flags, output } = call
  const view = await inStore(call, async ({ backend }) => {
    const jobs = supported(backend.jobs)
    const job = await requireJob(jobs, id)
    const attempts = (await jobs.attempts({ id })).map(attemptView)
    const logs = (await jobs.logs({ id })).map(logLineView)
    const payload = await shownPayload(backend, job, flags)
    const result = job.result === null ? null : jsonOf(job.result)
    return { ...listedView(job), payload, result, attempts, logs }
  })
  if (flags.json) return output.json(view)
  output.line(jobSheet(view, output.paint))
}

/** The fields to mask are known by the queue. Without it, the whole payload is masked. */
async function shownPayload(
  backend: Backend,
  { queue, payload }: JobRecord,
  flags: RevealFlags,
): Promise<unknown> {
  try {
    return maskMessage(jsonOf(payload), await hiddenIn(backend, queue, flags))
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'queue_not_found') return masked
    throw error
  }
}

async function logs(call: Call<StoreFlags>, id: string): Promise<void> {
  const { flags, output } = call
  const lines = await inStore(call, async ({ backend }) => {
    const jobs = supported(backend.jobs)
    await requireJob(jobs, id)
    return (await jobs.logs({ id })).map(logLineView)
  })
  if (flags.json) return output.json({ logs: lines })
  if (lines.length === 0) return output.notice('The job has no log lines.')
  output.line(logLines(lines, output.paint))
}
