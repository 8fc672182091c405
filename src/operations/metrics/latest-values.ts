import type { Backend } from '../../backends/backend.ts'
import type { LatestValue } from '../../backends/metric-store.ts'
import { supported } from '../../core/supported.ts'
import { everyPage } from '../every-page.ts'

/** The latest value of each name that apps and their janitors recorded. */
export async function latestValues(
  backend: Pick<Backend, 'metrics'>,
): Promise<readonly LatestValue[]> {
  const store = supported(backend.metrics)
  return everyPage((page) => store.latest(page))
}
