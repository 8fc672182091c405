/**
 * Metrics: GET /metrics and /metrics/per-queue in Prometheus' text format, for admins and the role
 * `metrics`, and GET /queues/:queue/metrics with the terms of CloudWatch, for admins.
 */
import type { Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import { metricSeries } from '../../operations/metrics/metric-data.ts'
import { metricDataView } from '../../operations/metrics/metric-view.ts'
import type { MetricReader } from '../../operations/metrics/metrics.ts'
import { prometheusContentType } from '../../operations/prometheus/prometheus-text.ts'
import type { ApiEnv } from './api-env.ts'
import type { ApiSettings } from './api-options.ts'
import { adminsOnly, authenticate } from './authenticate.ts'
import { mayScrape } from './caller.ts'
import { foundQueue } from './inbox-context.ts'
import { readMetricRequest } from './metric-request.ts'
import { metricOperations } from './openapi-metrics.ts'

/** Not logged, because Prometheus polls them. */
export const scrapePaths: readonly string[] = ['/metrics', '/metrics/per-queue']

const ofOneQueue = '/queues/:queue/metrics'

export interface MetricContext {
  readonly metrics: MetricReader
  readonly settings: ApiSettings
}

export function metricRoutes(api: Hono<ApiEnv>, { metrics, settings }: MetricContext): void {
  const { auth, ports } = settings
  for (const path of scrapePaths) api.use(path, authenticate(auth, ports.clock, mayScrape))
  api.use(ofOneQueue, authenticate(auth, ports.clock), adminsOnly)

  api.get('/metrics', describeRoute(metricOperations.all), async (c) =>
    c.body(await metrics.prometheus(), 200, { 'content-type': prometheusContentType }),
  )

  api.get('/metrics/per-queue', describeRoute(metricOperations.perQueue), async (c) => {
    const text = await metrics.prometheus({ perQueue: true })
    return c.body(text, 200, { 'content-type': prometheusContentType })
  })

  api.get(ofOneQueue, describeRoute(metricOperations.ofQueue), async (c) => {
    const queue = c.req.param('queue')
    const { span, series } = readMetricRequest(c.req.queries())
    const minutes = await foundQueue(metrics.minutes(queue, span))
    const results = series.map((one) => metricSeries(minutes, one))
    return c.json(metricDataView(queue, results))
  })
}
