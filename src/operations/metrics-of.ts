import type { Backend } from '../backends/backend.ts'
import type { MetricStore } from '../backends/metric-store.ts'
import { MillraceError } from '../core/millrace-error.ts'

/** The metrics of a backend, for those who asked for them. */
export function metricsOf({ metrics }: Pick<Backend, 'metrics'>): MetricStore {
  if (metrics === null) throw new MillraceError('unsupported')
  return metrics
}
