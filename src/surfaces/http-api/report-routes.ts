/**
 * Reports of programs that have received a job: POST /jobs/:id/progress, complete, fail and extend. The
 * receipt in the body names the lease. Once the lease has ended, nothing changes.
 */
import type { Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import { isoTime } from '../../core/iso-time.ts'
import type { JobReports, Reported } from '../../worker/job-reports.ts'
import type { ApiEnv } from './api-env.ts'
import type { ApiSettings } from './api-options.ts'
import { ApiProblem } from './api-problem.ts'
import { authenticate } from './authenticate.ts'
import { mayReport } from './caller.ts'
import { reportOperations } from './openapi-reports.ts'
import { type FieldKinds, readFields } from './read-fields.ts'
import { readJsonBody } from './read-json-body.ts'

export interface ReportsContext {
  readonly reports: JobReports
  readonly settings: ApiSettings
}

export type ReportKind = keyof JobReports

/** The fields of each body. What is in them is checked with the report. */
const fields: Readonly<Record<ReportKind, FieldKinds>> = {
  progress: { receipt: 'text', progress: 'number', spent: 'any' },
  complete: { receipt: 'text', result: 'any', spent: 'any' },
  fail: { receipt: 'text', error: 'any', retry: 'any', spent: 'any' },
  extend: { receipt: 'text', for: 'text' },
}

export const reportKinds: readonly ReportKind[] = Object.keys(fields) as ReportKind[]

export function reportRoutes(api: Hono<ApiEnv>, { reports, settings }: ReportsContext): void {
  const { auth, ports } = settings
  const check = authenticate(auth, ports.clock, mayReport)
  const limits = { ...settings, timers: ports.timers }
  for (const kind of reportKinds) {
    api.post(`/jobs/:id/${kind}`, describeRoute(reportOperations[kind]), check, async (c) => {
      const { id = '' } = c.req.param()
      const body = readFields(await readJsonBody(c.req.raw, limits), fields[kind])
      // The fields have the names of the report, which checks their values.
      return c.json(reportView(await reports[kind](id, body as never)))
    })
  }
}

function reportView(reported: Reported): Readonly<Record<string, unknown>> {
  if (reported.status !== 'reported') {
    throw new ApiProblem('lease_ended', { members: { job_status: reported.job } })
  }
  const { job, retryInMs, leaseExpiresAt } = reported
  return {
    status: job,
    ...(retryInMs !== undefined && { retry_in_ms: retryInMs }),
    ...(leaseExpiresAt !== undefined && { lease_expires_at: isoTime(leaseExpiresAt) }),
  }
}
