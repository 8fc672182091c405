/**
 * Finds stuck work once a minute: jobs without a worker, jobs that never end, flows past their deadline, and
 * collector keys without a trigger. It repairs what it can. It reports the rest once, and counts it in the
 * metrics.
 */
import type { Backend } from '../backends/backend.ts'
import type { FindingKind, NewFinding } from '../backends/finding-store.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'
import {
  expiredMetric,
  findingMetrics,
  type JanitorFinding,
  janitorFinding,
  repairedMetric,
} from './janitor-rules.ts'
import { Service, type ServiceFailure, type SliceEnd } from './service.ts'

export interface JanitorOptions {
  readonly backend: Pick<Backend, 'jobs' | 'flows' | 'collectors' | 'findings' | 'metrics'>
  /** The owner of the findings: app and stage. */
  readonly scope: string
  /** Names in the store of queues with jobs. */
  readonly queues: readonly string[]
  /** Names in the store of flows and chains. */
  readonly flows: readonly string[]
  /** Names in the store of collectors. */
  readonly collectors: readonly string[]
  readonly pendingForMs: number
  readonly processingForMs: number
  readonly heldNames: readonly string[]
  /** Returns the number of messages that expired since the last call. */
  readonly takeExpired: () => number
  /** Returns the name in the store of a metric of the app. */
  readonly metricName: (name: string) => string
  readonly timers: Timers
  /** Pause between two checks. Default: one minute. */
  readonly intervalMs?: number
  readonly onFinding: (finding: JanitorFinding) => void
  readonly onFailure?: (failure: ServiceFailure) => void
}

const defaultIntervalMs = 60_000

/** A finding counts only if a later check finds it again, because it may have been about to change. */
const confirmAfterMs = 30_000

/** A trigger that is this late is lost. */
const triggerOverdueMs = 60_000

/** Limits of one check per kind: in one queue or flow, and in total. */
const foundInPlaceMax = 100
const foundMax = 1_000

interface Found {
  readonly items: readonly NewFinding[]
  /** Whether there may be more findings. */
  readonly isPartial: boolean
}

export class Janitor extends Service {
  readonly #options: JanitorOptions

  constructor(options: JanitorOptions) {
    const { timers, intervalMs = defaultIntervalMs, onFailure } = options
    super({ timers, intervalMs, onFailure, slice: () => this.#look() })
    this.#options = options
  }

  async #look(): Promise<SliceEnd> {
    const { backend, queues, flows, takeExpired, metricName } = this.#options
    const values = new Map<string, number>([[expiredMetric, takeExpired()]])
    if (queues.length > 0) {
      await this.#note('stuck_pending', await this.#stuckJobs('pending'), values)
      await this.#note('stuck_processing', await this.#stuckJobs('processing'), values)
    }
    if (flows.length > 0) await this.#note('overdue_flow', await this.#overdueFlows(), values)
    await this.#repairCollectors(values)
    const named = [...values].map(([name, value]) => ({ name: metricName(name), value }))
    await backend.metrics?.report({ queues: [], values: named })
    return {}
  }

  async #stuckJobs(status: 'pending' | 'processing'): Promise<Found> {
    const { backend, queues, pendingForMs, processingForMs, heldNames } = this.#options
    const { jobs } = backend
    if (jobs === null) return allOf([])
    const olderThanMs = status === 'pending' ? pendingForMs : processingForMs
    const places: NewFinding[][] = []
    for (const place of queues) {
      const request = { queue: place, status, olderThanMs, limit: foundInPlaceMax, heldNames }
      const stuck = await jobs.stuck(request).catch(noneOfMissing)
      places.push(stuck.map((job) => ({ ...job, place })))
    }
    return allOf(places)
  }

  async #overdueFlows(): Promise<Found> {
    const { backend, flows: names } = this.#options
    const { flows } = backend
    if (flows === null) return allOf([])
    const late = (await flows.counts()).filter(
      ({ flow, overdue }) => overdue > 0 && names.includes(flow),
    )
    const places: NewFinding[][] = []
    for (const { flow: place } of late) {
      const { items } = await flows.list({ prefix: place, overdue: true, limit: foundInPlaceMax })
      // The filter is a prefix, so it also finds other flows.
      const own = items.filter(({ flow }) => flow === place)
      places.push(
        own.map(({ id, deadlineAt, openedAt }) => ({
          ...{ place, id, type: null, since: deadlineAt ?? openedAt },
        })),
      )
    }
    return allOf(places)
  }

  /** Repairs keys of all apps. The first process repairs a key, and one check covers only some keys. */
  async #repairCollectors(values: Map<string, number>): Promise<void> {
    const { backend, collectors: own, onFinding } = this.#options
    const { collectors, findings } = backend
    if (collectors === null) return
    const request = { overdueMs: triggerOverdueMs, limit: foundInPlaceMax }
    const { repaired, stuck } = await collectors.repair(request)
    for (const { collector: place, key: id } of repaired) {
      onFinding({ what: 'repaired_collector_key', place, id, type: null, since: null })
    }
    const kind = 'stuck_collector_key'
    const found = stuck.map(({ collector: place, key: id }) => ({ place, id, type: null }))
    const noted = { scope: '', kind, found, isPartial: true, confirmAfterMs: 0 } as const
    for (const finding of (await findings?.note(noted)) ?? []) onFinding(janitorFinding(finding))
    if (own.length === 0) return
    const known = (await findings?.list({ scope: '', kind, limit: foundMax })) ?? []
    values.set(repairedMetric, repaired.length)
    values.set(findingMetrics[kind], known.filter(({ place }) => own.includes(place)).length)
  }

  async #note(
    kind: FindingKind,
    { items: found, isPartial }: Found,
    values: Map<string, number>,
  ): Promise<void> {
    const { backend, scope, onFinding } = this.#options
    values.set(findingMetrics[kind], found.length)
    const fresh = await backend.findings?.note({ scope, kind, found, isPartial, confirmAfterMs })
    for (const finding of fresh ?? []) onFinding(janitorFinding(finding))
  }
}

function allOf(places: readonly (readonly NewFinding[])[]): Found {
  const all = places.flat()
  const isPartial = all.length > foundMax || places.some((one) => one.length >= foundInPlaceMax)
  return { items: all.slice(0, foundMax), isPartial }
}

/** A deleted queue has no stuck work. */
function noneOfMissing(error: unknown): readonly [] {
  if (error instanceof MillraceError && error.code === 'queue_not_found') return []
  throw error
}
