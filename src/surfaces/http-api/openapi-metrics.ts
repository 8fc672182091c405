/** The OpenAPI description of the metrics routes. */
import type { DescribeRouteOptions } from 'hono-openapi'
import { metricStatistics, queueMetricNames } from '../../operations/metrics/metric-data.ts'
import { periods } from './metric-request.ts'
import { answer, guarded, pathParameter, query, refusals } from './openapi-operations.ts'
import { type OpenApiSchemas, object } from './openapi-schemas.ts'
import type { ProblemCode } from './problems.ts'

const forAdmins: readonly ProblemCode[] = [...guarded, 'forbidden']

export const metricOperations: Readonly<
  Record<'all' | 'perQueue' | 'ofQueue', DescribeRouteOptions>
> = {
  all: {
    operationId: 'scrapeMetrics',
    summary: 'Metrics of the store for Prometheus; totals only if there are many queues',
    responses: scraped(),
  },
  perQueue: {
    operationId: 'scrapeMetricsPerQueue',
    summary: 'Metrics of the store for Prometheus, with series for every queue',
    responses: scraped(),
  },
  ofQueue: {
    operationId: 'readQueueMetrics',
    summary: 'Metrics of a queue, per minute or in longer periods, for up to three days',
    parameters: [
      pathParameter('queue', 'The key of the queue in the app, or its name.'),
      query('from', { type: 'string', format: 'date-time', description: 'Default: an hour ago.' }),
      query('to', { type: 'string', format: 'date-time', description: 'Default: now.' }),
      query('period', {
        type: 'integer',
        minimum: periods.min,
        maximum: periods.max,
        multipleOf: periods.min,
        default: periods.min,
        description: 'In seconds.',
      }),
      query('metric', {
        type: 'string',
        enum: [...queueMetricNames],
        description: 'Default: all.',
      }),
      query('statistic', {
        type: 'string',
        enum: [...metricStatistics],
        description: 'Default: Sum for counts, Maximum for levels, Average for durations.',
      }),
    ],
    responses: {
      200: answer('The requested metrics.', 'MetricData'),
      ...refusals(...forAdmins, 'invalid_request', 'not_found'),
    },
  },
}

function scraped(): NonNullable<DescribeRouteOptions['responses']> {
  const content = { 'text/plain': { schema: { type: 'string' } as const } }
  const description = "Prometheus' text format, version 0.0.4."
  return { 200: { description, content }, ...refusals(...forAdmins) }
}

export const metricSchemas: OpenApiSchemas = {
  MetricData: object({
    queue: { type: 'string' },
    metric_data_results: {
      type: 'array',
      items: { $ref: '#/components/schemas/MetricDataResult' },
    },
  }),
  MetricDataResult: object({
    label: { type: 'string', enum: [...queueMetricNames] },
    statistic: { type: 'string', enum: [...metricStatistics] },
    unit: { type: 'string', enum: ['Count', 'Seconds', 'Milliseconds', 'None'] },
    period: { type: 'integer' },
    timestamps: { type: 'array', items: { type: 'string', format: 'date-time' } },
    values: { type: 'array', items: { type: 'number' } },
  }),
}
