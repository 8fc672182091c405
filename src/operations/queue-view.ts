/** Queues as all surfaces show them: settings, counts and dead-letter queues. Field names are API. */
import type { Backend, QueueRecord, QueueStatistics } from '../backends/backend.ts'
import { isoTime } from '../core/iso-time.ts'
import { type QueueTotalsView, totalsView } from '../core/queue-counters.ts'
import { everyPage } from './every-page.ts'

export interface QueueCounts {
  readonly visible: number
  readonly in_flight: number
  readonly delayed: number
  /** Age of the oldest waiting message; null if none waits. */
  readonly oldest_age_ms: number | null
}

export interface QueueSummary extends QueueCounts {
  readonly name: string
  readonly type: 'standard' | 'fifo'
  readonly dead_letter_queue: string | null
}

export interface QueueView extends QueueSummary {
  readonly created_at: string
  readonly changed_at: string
  readonly settings: QueueSettingsView
  readonly max_receives: number | null
  /** Queues that use this queue as their dead-letter queue. */
  readonly dead_letter_sources: readonly string[]
  readonly totals: QueueTotalsView
  readonly tags: Readonly<Record<string, string>>
}

/** A limit for each value of a key in the bodies. */
export interface KeyLimitView {
  readonly key: string
  readonly concurrency: number | null
  readonly rate: { readonly max: number; readonly per_ms: number } | null
}

export interface QueueSettingsView {
  readonly visibility_ms: number
  readonly delay_ms: number
  readonly retention_ms: number
  readonly receive_wait_ms: number
  readonly message_bytes_max: number
  readonly content_deduplication: boolean
  readonly deduplication_scope: 'queue' | 'group'
  /** Queues that may use this queue as their dead-letter queue. */
  readonly dead_letter_sources_allowed: 'all' | 'none' | readonly string[]
  readonly concurrency: number | null
  readonly tenant_concurrency: number | null
  readonly limits: readonly KeyLimitView[]
  readonly obeys: readonly string[]
  /** Masked paths in the bodies. */
  readonly hidden: readonly string[]
  /** The types of the jobs that the queue holds, as its app declares them. */
  readonly job_types: readonly string[]
  /** Data that surfaces keep with the queue, such as an access policy. */
  readonly annotations: Readonly<Record<string, string>>
}

type QueueReader = Pick<Backend, 'readQueue' | 'queueStatistics' | 'listDeadLetterSources'>

export async function viewQueue(backend: QueueReader, queue: string): Promise<QueueView> {
  const [record, statistics, sources] = await Promise.all([
    backend.readQueue({ queue }),
    backend.queueStatistics({ queue }),
    everyPage((page) => backend.listDeadLetterSources({ queue, ...page })),
  ])
  return {
    ...queueSummary(record, statistics),
    created_at: isoTime(record.createdAt),
    changed_at: isoTime(record.changedAt),
    settings: settingsView(record),
    max_receives: record.settings.deadLetter?.maxReceives ?? null,
    dead_letter_sources: sources.map(({ name }) => name),
    totals: totalsView(statistics.totals),
    tags: record.tags,
  }
}

export function queueSummary(
  { name, settings }: QueueRecord,
  statistics: QueueStatistics,
): QueueSummary {
  return {
    name,
    type: settings.type,
    ...queueCounts(statistics),
    dead_letter_queue: settings.deadLetter?.queue ?? null,
  }
}

export function queueCounts(statistics: QueueStatistics): QueueCounts {
  const { ready, leased, delayed, oldestReadyAgeMs } = statistics
  return { visible: ready, in_flight: leased, delayed, oldest_age_ms: oldestReadyAgeMs }
}

function settingsView({ settings }: QueueRecord): QueueSettingsView {
  return {
    visibility_ms: settings.visibilityMs,
    delay_ms: settings.delayMs,
    retention_ms: settings.retentionMs,
    receive_wait_ms: settings.receiveWaitMs,
    message_bytes_max: settings.messageBytesMax,
    content_deduplication: settings.deduplicateByContent,
    deduplication_scope: settings.deduplicationScope,
    dead_letter_sources_allowed: settings.deadLetterSources,
    concurrency: settings.ceilings.running,
    tenant_concurrency: settings.ceilings.runningPerTenant,
    limits: settings.ceilings.perKey.map(({ key, running, rate }) => ({
      key,
      concurrency: running,
      rate: rate && { max: rate.max, per_ms: rate.perMs },
    })),
    obeys: settings.obeys.queue,
    hidden: settings.hidden,
    job_types: settings.jobTypes,
    annotations: settings.annotations,
  }
}
