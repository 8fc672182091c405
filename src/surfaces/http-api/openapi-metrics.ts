/** What the OpenAPI document says about metrics. */
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
    summary: 'Metrics of the store for Prometheus; all queues together when they are many',
    responses: scraped(),
  },
  perQueue: {
    operationId: 'scrapeMetricsPerQueue',
    summary: 'The same with series for every queue, however many there are',
    responses: scraped(),
  },
  ofQueue: {
    operationId: 'readQueueMetrics',
    summary: 'How a queue fared, by the minute or in longer periods, for up to three days',
    parameters: [
      pathParameter('queue', 'Its key in the app, or its name.'),
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
        description: 'Default: sums of counts, maxima of levels, averages of durations.',
      }),
    ],
    responses: {
      200: answer('The metrics that were asked for.', 'MetricData'),
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
