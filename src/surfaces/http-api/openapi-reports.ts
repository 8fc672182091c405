/** The OpenAPI description of the reports on jobs. */
import type { DescribeRouteOptions } from 'hono-openapi'
import { jobStatuses } from '../../core/job-state.ts'
import type { JobReports } from '../../worker/job-reports.ts'
import { amount } from './openapi-budgets.ts'
import { answer, jobId, jsonBody, ofBodies, ofOneJob, refusals } from './openapi-operations.ts'
import { type OpenApiSchema, type OpenApiSchemas, object, optional } from './openapi-schemas.ts'

const text: OpenApiSchema = { type: 'string' }
const duration: OpenApiSchema = { type: 'string', description: "A duration such as '30s'." }
const receipt: OpenApiSchema = { type: 'string', description: 'The ReceiptHandle of the job.' }

const spent = optional({
  type: 'object',
  description: 'What was spent on the job since the last report, by budget.',
  additionalProperties: amount,
})

export const reportSchemas: OpenApiSchemas = {
  ProgressReport: body({ receipt, progress: { type: 'number', minimum: 0, maximum: 1 }, spent }),
  CompletionReport: body({ receipt, result: optional({}), spent }),
  FailureReport: body({
    receipt,
    error: body({ message: text, name: optional(text), stack: optional(text) }),
    retry: optional({
      description: 'False fails the job now. A delay replaces the wait of the backoff.',
      anyOf: [{ type: 'boolean' }, body({ delay: duration })],
    }),
    spent,
  }),
  ExtensionReport: body({ receipt, for: duration }),
  ReportedJob: object({
    status: { type: 'string', enum: [...jobStatuses] },
    retry_in_ms: optional({ type: 'integer', minimum: 0 }),
    lease_expires_at: optional({ type: 'string', format: 'date-time' }),
  }),
}

function body(fields: Parameters<typeof object>[0]): OpenApiSchema {
  return { ...object(fields), additionalProperties: false }
}

export const reportOperations: Readonly<Record<keyof JobReports, DescribeRouteOptions>> = {
  progress: operation('reportProgress', 'Report the progress of a received job', 'ProgressReport'),
  complete: operation('completeJob', 'Complete a received job with its result', 'CompletionReport'),
  fail: operation('failJob', 'Report that an attempt of a received job failed', 'FailureReport'),
  extend: operation('extendLease', 'Extend the lease of a received job', 'ExtensionReport'),
}

function operation(operationId: string, summary: string, schema: string): DescribeRouteOptions {
  return {
    operationId,
    summary,
    parameters: [jobId],
    requestBody: jsonBody(schema),
    responses: {
      200: answer('The job after the report.', 'ReportedJob'),
      ...refusals(...ofOneJob, 'forbidden', 'invalid_request', 'lease_ended', ...ofBodies),
    },
  }
}
