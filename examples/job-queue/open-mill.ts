/** Opens the app, and logs background errors. */
import { type Logger, MillraceError, type OpenOptions, open } from 'millrace'
import { type JobQueueMill, jobQueueApp } from './app.ts'
import type { Environment } from './environment.ts'

export function openMill(
  environment: Environment,
  log: Logger,
  options: Pick<OpenOptions, 'busyTimeout' | 'ports' | 'store'> = {},
): Promise<JobQueueMill> {
  return open(jobQueueApp(environment), {
    store: environment.store,
    log,
    onNotice: (notice) => {
      const { kind } = notice
      // Alarms are logged by Millrace itself.
      if (kind === 'alarm') return
      const message = 'background error'
      if (kind === 'janitor') log.warn({ kind, what: notice.what, id: notice.id }, message)
      else if (kind === 'clock') log.warn({ kind, what: notice.what }, message)
      else if (kind === 'worker_not_started') log.warn({ kind }, message)
      else log.error({ kind, code: codeOf(notice.error) }, message)
    },
    ...options,
  })
}

/** Logs the code of an error and not its message, which may contain user data. */
export function codeOf(error: unknown): string {
  return error instanceof MillraceError ? error.code : 'unknown'
}
