/**
 * Evaluates alarms once per minute. Any number of processes may do so at the same time: the store keeps the
 * first result for a minute.
 */
import type {
  AlarmEvaluation,
  AlarmRecord,
  AlarmStore,
  AlarmTransition,
} from '../../backends/alarm-store.ts'
import type { Backend } from '../../backends/backend.ts'
import type { MetricStore } from '../../backends/metric-store.ts'
import { evaluateAlarm } from '../../core/alarm-evaluation.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { minuteOf } from '../../core/minutes.ts'
import { slicesOf } from '../../core/slices-of.ts'
import { type AlarmChange, alarmChange } from './alarm-change.ts'
import { alarmDatapoints, overdueValueName } from './alarm-datapoints.ts'
import { alarmNotifications } from './alarm-notifications.ts'
import { endAlarm } from './set-alarm.ts'

export interface AlarmEvaluatorOptions {
  readonly backend: Pick<Backend, 'alarms' | 'metrics' | 'flows' | 'readQueue'>
  /** Called with every change. */
  readonly onChange: (change: AlarmChange) => void
  /** Evaluates only alarms of this owner. Default: all alarms of the store. */
  readonly owner?: string
}

/** Alarms per commit, so that a commit takes only a few milliseconds. */
const evaluatedAtOnce = 50

export class AlarmEvaluator {
  readonly #options: AlarmEvaluatorOptions

  constructor(options: AlarmEvaluatorOptions) {
    this.#options = options
  }

  /** Evaluates alarms that were not yet evaluated for the last minute. Resolves with the changes. */
  async evaluate(): Promise<readonly AlarmTransition[]> {
    const { backend, owner } = this.#options
    const { alarms, metrics } = backend
    if (alarms === null || metrics === null) throw new MillraceError('unsupported')
    const now = await sampledNow(alarms, metrics)
    const end = minuteOf(now)
    const records = await alarms.alarmStates({ prefix: '', ...(owner !== undefined && { owner }) })
    const due = records.filter(({ evaluatedAt }) => evaluatedAt === null || evaluatedAt < end)
    const transitions: AlarmTransition[] = []
    const failures: unknown[] = []
    for (const slice of slicesOf(due, evaluatedAtOnce)) {
      const results = await Promise.allSettled(slice.map((record) => this.#judge(record, now)))
      const evaluations = results.flatMap((result) =>
        result.status === 'fulfilled' ? (result.value ?? []) : [],
      )
      failures.push(...results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : [])))
      if (evaluations.length === 0) continue
      const changed = await alarms.recordEvaluations({ evaluations })
      for (const transition of changed) this.#tell(transition, slice)
      transitions.push(...changed)
    }
    // Thrown last, so that one failed evaluation does not block the others.
    if (failures.length > 0) throw failures[0]
    return transitions
  }

  /** Resolves with undefined if the queue was deleted. Then the alarm is removed too. */
  async #judge(record: AlarmRecord, now: number): Promise<AlarmEvaluation | undefined> {
    const { alarm, rule, revision, state: from } = record
    const { backend, onChange } = this.#options
    const { metrics, alarms } = backend
    if (metrics === null || alarms === null) return undefined
    const end = minuteOf(now)
    try {
      const points = await alarmDatapoints({ backend, metrics }, rule, end)
      const { state: to, reason } = evaluateAlarm(rule, points, from)
      if (rule.metric === 'overdue_flows') await this.#countOverdue(rule.of)
      const notify = alarmNotifications(record, { to, reason, at: now })
      return { alarm, revision, from, to, reason, evaluatedAt: end, notify }
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== 'queue_not_found') throw error
      await endAlarm({ alarms, onChange }, record, 'Its queue was deleted.')
      await alarms.forgetAlarms({ alarms: [{ alarm, revision }] })
      return undefined
    }
  }

  /** Flows have no recorded minutes, so the present count is recorded as a value. */
  async #countOverdue(flow: string): Promise<void> {
    const { flows, metrics } = this.#options.backend
    if (flows === null) return
    const value = (await flows.counts()).find((one) => one.flow === flow)?.overdue ?? 0
    await metrics?.report({ queues: [], values: [{ name: overdueValueName(flow), value }] })
  }

  #tell(transition: AlarmTransition, records: readonly AlarmRecord[]): void {
    const record = records.find(({ alarm }) => alarm === transition.alarm)
    if (record !== undefined) this.#options.onChange(alarmChange(record, transition))
  }
}

/**
 * The present time, after recording the last minute. A minute that is not recorded would count as empty.
 */
async function sampledNow(alarms: AlarmStore, metrics: MetricStore): Promise<number> {
  for (;;) {
    const before = await alarms.now()
    while ((await metrics.sample()).more);
    const now = await alarms.now()
    if (minuteOf(now) === minuteOf(before)) return now
  }
}
