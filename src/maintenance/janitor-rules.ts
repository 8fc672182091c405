/** The metric names and texts for findings of the janitor. */
import type { Finding, FindingKind } from '../backends/finding-store.ts'

/** The metric with the present number of findings, per kind. */
export const findingMetrics: Readonly<Record<FindingKind, string>> = {
  stuck_pending: 'janitor_stuck_pending',
  stuck_processing: 'janitor_stuck_processing',
  overdue_flow: 'janitor_overdue_flows',
  stuck_collector_key: 'janitor_stuck_collector_keys',
}

/** The metric with the number of repairs since the last check. */
export const repairedMetric = 'janitor_repaired_collector_keys'
export const expiredMetric = 'janitor_expired'

export interface JanitorFinding {
  readonly what: FindingKind | 'repaired_collector_key'
  /** The queue, flow or collector, by its name in the store. */
  readonly place: string
  /** The id of the job or flow, or the key. */
  readonly id: string
  /** The job type. */
  readonly type: string | null
  /** Start of the state; null for repairs. */
  readonly since: Date | null
}

export function janitorFinding({ kind, place, id, type, since }: Finding): JanitorFinding {
  return { what: kind, place, id, type, since: new Date(since) }
}

const sentences: Readonly<Record<JanitorFinding['what'], string>> = {
  stuck_pending: 'has waited for a worker',
  stuck_processing: 'has been running',
  overdue_flow: 'has been past its deadline',
  stuck_collector_key: 'has had a dead-lettered trigger',
  repaired_collector_key: 'had lost its trigger and got a new one',
}

export function describeFinding({ what, place, id, since }: JanitorFinding): string {
  const span = since === null ? '' : ` since ${since.toISOString()}`
  return `${id} of ${place} ${sentences[what]}${span}.`
}
