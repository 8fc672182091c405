/** Jobs as text: a table of jobs, the details of one with its attempts, and log lines. */
import { failureText } from '../../core/failure.ts'
import type {
  AttemptView,
  JobInsideView,
  JobStateView,
  LogLineView,
} from '../../operations/job-view.ts'
import { spentText } from './flow-sheet.ts'
import { tableWithBodies } from './message-sheet.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours, Shell } from './shell.ts'
import { labelledLines, printable } from './table.ts'

export interface ListedJob extends JobStateView, JobInsideView {
  readonly error_message: string | null
}

export interface ShownJob extends ListedJob {
  readonly payload: unknown
  readonly result: unknown
  readonly attempts: readonly AttemptView[]
  readonly logs: readonly LogLineView[]
}

type Paint = Pick<Colours, 'bold' | 'dim'>

export function jobTable(
  shell: Pick<Shell, 'out'>,
  jobs: readonly ListedJob[],
  paint: Pick<Colours, 'bold'>,
): string {
  const rows = jobs.map((job) => ({
    id: job.id,
    type: job.job_type,
    status: job.status,
    attempts: attemptsOf(job),
    owner: job.owner,
    created_at: job.created_at,
    error: job.error_message ?? '',
  }))
  const columns = ['id', 'type', 'status', 'attempts', 'owner', 'created_at'] as const
  const rightAligned = ['attempts'] as const
  return boldHead(tableWithBodies(shell, { columns, body: 'error', rows, rightAligned }), paint)
}

/** Lines of label and value, then each attempt with its error, then the log. */
export function jobSheet(job: ShownJob, paint: Paint): string {
  const sections = [
    [paint.bold(printable(`${job.job_type} ${job.id}`)), ...facts(job)],
    ...job.attempts.map((attempt) => attemptLines(attempt, paint)),
    ...(job.logs.length === 0 ? [] : [[paint.bold('log'), logLines(job.logs, paint)]]),
  ]
  return sections.map((lines) => lines.join('\n')).join('\n\n')
}

export function logLines(lines: readonly LogLineView[], { dim }: Pick<Paint, 'dim'>): string {
  const shown = lines.map(({ attempt, at, level, message, fields }) => {
    const more = Object.keys(fields).length === 0 ? '' : `  ${JSON.stringify(fields)}`
    const text = printable(`${level.padEnd(5)}  ${message}${more}`)
    return `${dim(`${at}  attempt ${attempt}`)}  ${text}`
  })
  return shown.join('\n')
}

function facts(job: ShownJob): readonly string[] {
  const { progress } = job
  return labelledLines([
    ['status', job.status],
    ['queue', job.queue_name],
    ['attempts', attemptsOf(job)],
    ['error', job.error_message],
    ['progress', progress > 0 && progress < 1 ? `${Math.round(progress * 100)}%` : null],
    ['owner', job.owner],
    ['tenant', job.tenant],
    ['tier', job.tier],
    ['trace id', job.trace_id],
    ['tags', job.tags.join(', ') || null],
    ['spent', spentText(job.spent)],
    ['retry of', job.retry_of],
    ['created', job.created_at],
    ['due', job.run_at],
    ['expires', job.expires_at],
    ['started', job.started_at],
    ['finished', job.finished_at],
    ['payload', JSON.stringify(job.payload)],
    ['result', job.result === null ? null : JSON.stringify(job.result)],
  ])
}

function attemptLines(shown: AttemptView, { bold }: Pick<Paint, 'bold'>): readonly string[] {
  const { attempt, outcome, started_at, ended_at, error_message, failure } = shown
  const times = ended_at === null ? started_at : `${started_at} to ${ended_at}`
  const text = failure === null ? undefined : failureText(failure)
  const hasSummary = error_message !== null && !text?.includes(error_message)
  const lines = [...(hasSummary ? [error_message] : []), ...(text?.split('\n') ?? [])]
  return [
    `${bold(`attempt ${attempt}`)}  ${outcome}  ${times}`,
    ...lines.map((line) => `  ${printable(line)}`),
  ]
}

function attemptsOf({ attempts_made, max_attempts }: ListedJob): string {
  return `${attempts_made} of ${max_attempts}`
}
