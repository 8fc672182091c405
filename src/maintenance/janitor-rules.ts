/** What the janitor says about what it has found: names of metrics, texts for people. */
import type { Finding, FindingKind } from '../backends/finding-store.ts'

/** The value that an app's metrics have for each kind: how many there are at a look. */
export const findingMetrics: Readonly<Record<FindingKind, string>> = {
  stuck_pending: 'janitor_stuck_pending',
  stuck_processing: 'janitor_stuck_processing',
  overdue_flow: 'janitor_overdue_flows',
  stuck_collector_key: 'janitor_stuck_collector_keys',
}

/** What was done rather than found, since the look before. */
export const repairedMetric = 'janitor_repaired_collector_keys'
export const expiredMetric = 'janitor_expired'

export interface JanitorFinding {
  readonly what: FindingKind | 'repaired_collector_key'
  /** The queue, flow or collector, by its name in the store. */
  readonly place: string
  /** The job, the flow's id, the key. */
  readonly id: string
  /** The job type. */
  readonly type: string | null
  /** Since when; null for what was repaired. */
  readonly since: Date | null
}

export function janitorFinding({ kind, place, id, type, since }: Finding): JanitorFinding {
  return { what: kind, place, id, type, since: new Date(since) }
}

const sentences: Readonly<Record<JanitorFinding['what'], string>> = {
  stuck_pending: 'has waited for a worker',
  stuck_processing: 'has been in the hands of one worker',
  overdue_flow: 'has been over its deadline',
  stuck_collector_key: 'has had its trigger among the dead letters',
  repaired_collector_key: 'had lost its trigger, and was given a new one',
}

/** One sentence for people. */
export function describeFinding({ what, place, id, since }: JanitorFinding): string {
  const span = since === null ? '' : ` since ${since.toISOString()}`
  return `${id} of ${place} ${sentences[what]}${span}.`
}
