/** Opens the queues, with everything that goes wrong behind the scenes in the log. */
import { type Logger, MillraceError, type OpenOptions, open } from 'millrace'
import { type JobQueueMill, jobQueueApp } from './app.ts'
import type { Environment } from './environment.ts'

export function openMill(
  environment: Environment,
  log: Logger,
  options: Pick<OpenOptions, 'backend' | 'ports'> = {},
): Promise<JobQueueMill> {
  return open(jobQueueApp(environment), {
    data: environment.dataDirectory,
    log,
    onNotice: (notice) => {
      const { kind } = notice
      // An alarm is in the log as it is.
      if (kind === 'alarm') return
      const message = 'behind the scenes'
      if (kind === 'janitor') log.warn({ kind, what: notice.what, id: notice.id }, message)
      else if (kind === 'clock') log.warn({ kind, what: notice.what }, message)
      else if (kind === 'worker_not_started') log.warn({ kind }, message)
      else log.error({ kind, code: codeOf(notice.error) }, message)
    },
    ...options,
  })
}

/** What a log may say about an error: its code and not its text, which may quote anything. */
export function codeOf(error: unknown): string {
  return error instanceof MillraceError ? error.code : 'unknown'
}
