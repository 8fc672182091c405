/**
 * Declares and evaluates alarms, a few seconds after each minute. A source supplies the declared alarms. An
 * alarm that its source no longer declares is removed.
 */
import type { DeclareAlarms } from '../../backends/alarm-store.ts'
import type { Backend } from '../../backends/backend.ts'
import { alarmMetrics } from '../../core/alarm-metrics.ts'
import type { AlarmRule } from '../../core/alarm-rule.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { minuteMs, minuteOf } from '../../core/minutes.ts'
import type { Timers } from '../../core/ports.ts'
import { Service, type ServiceFailure, type SliceEnd } from '../service.ts'
import type { AlarmChange } from './alarm-change.ts'
import { AlarmEvaluator } from './alarm-evaluator.ts'
import { endAlarm } from './set-alarm.ts'

export interface AlarmSource {
  /** The owner of the alarms. */
  readonly owner: string
  /** Returns the presently declared alarms. */
  rules(): Promise<readonly AlarmRule[]>
  /** Skips alarms whose name another owner has. */
  readonly yields?: boolean
  /** Other processes may share this owner. An alarm that none of them declares for this long is removed. */
  readonly abandonedAfterMs?: number
  /** All names that the source may declare. Those that it does not declare now are removed at once. */
  readonly names?: readonly string[]
}

export interface AlarmWatchOptions {
  readonly backend: Backend
  readonly timers: Timers
  readonly onChange: (change: AlarmChange) => void
  readonly sources: readonly AlarmSource[]
  /** Evaluates only alarms of this owner. Default: all alarms of the store. */
  readonly owner?: string
  readonly onFailure?: (failure: ServiceFailure) => void
}

/** Leaves time for the sampler to record the minute. Otherwise the watch records it. */
const afterMinuteMs = 5_000

const endReason = 'It is no longer declared, its queue was deleted, or another alarm replaces it.'

export class AlarmWatch extends Service {
  readonly #options: AlarmWatchOptions
  readonly #evaluator: AlarmEvaluator
  /** The last declaration of each source that this process sent to the store. */
  readonly #told = new Map<string, string>()

  constructor(options: AlarmWatchOptions) {
    const { timers, onFailure } = options
    super({ timers, intervalMs: minuteMs, onFailure, slice: () => this.#slice() })
    this.#options = options
    this.#evaluator = new AlarmEvaluator(options)
  }

  /**
   * Declares the alarms in the store, if they have changed. A source that yields declares them each time,
   * because the other alarm may be gone. So does a source that shares its owner, because others would treat
   * its alarms as abandoned. A source that fails does not block the others.
   */
  async declare(): Promise<void> {
    const failures: unknown[] = []
    // In order: a later source skips alarms of an earlier one.
    for (const source of this.#options.sources) {
      await this.#tell(source).catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  async #tell({ owner, rules, yields, abandonedAfterMs, names = [] }: AlarmSource): Promise<void> {
    const { backend } = this.#options
    const present = await presentRules(backend, await rules())
    const text = JSON.stringify(present)
    const isRepeated = yields || abandonedAfterMs !== undefined
    if (!isRepeated && this.#told.get(owner) === text) return
    const request = {
      owner,
      rules: present.rules,
      withdrawn: names.filter((name) => present.rules.every((rule) => rule.name !== name)),
      ...(yields !== undefined && { yields }),
      ...(abandonedAfterMs !== undefined && { abandonedAfterMs }),
    }
    await this.#endOthers(request)
    await backend.alarms?.declareAlarms(request)
    this.#told.set(owner, text)
  }

  /** Ends alarms that are about to be removed. */
  async #endOthers(request: DeclareAlarms): Promise<void> {
    const { owner, rules, abandonedAfterMs = 0, withdrawn = [] } = request
    const { backend, onChange } = this.#options
    const { alarms } = backend
    if (alarms === null) return
    const names = new Set(rules.map(({ name }) => name))
    const abandonedAt = (await alarms.now()) - abandonedAfterMs
    for (const record of await alarms.alarmStates({ prefix: '', owner })) {
      const isAlive = record.declaredAt > abandonedAt && !withdrawn.includes(record.alarm)
      if (names.has(record.alarm) || isAlive) continue
      await endAlarm({ alarms, onChange }, record, endReason)
    }
  }

  async #slice(): Promise<SliceEnd> {
    const { backend } = this.#options
    if (backend.alarms === null || backend.metrics === null) return {}
    const declared = await Promise.allSettled([this.declare()])
    await this.#evaluator.evaluate()
    // Thrown last, so that a failed source does not keep other alarms from being evaluated.
    for (const end of declared) if (end.status === 'rejected') throw end.reason
    const now = await backend.alarms.now()
    return { nextInMs: nextLook(now) - now }
  }
}

function nextLook(now: number): number {
  const thisMinute = minuteOf(now) + afterMinuteMs
  return thisMinute > now ? thisMinute : thisMinute + minuteMs
}

interface PresentRules {
  readonly rules: readonly AlarmRule[]
  /**
   * Creation times of the queues. If a queue was created again, another process may have removed its alarms
   * in the meantime.
   */
  readonly createdAt: Readonly<Record<string, number>>
}

/** A deleted queue has no alarms until it is created again. */
async function presentRules(
  backend: Pick<Backend, 'readQueue'>,
  rules: readonly AlarmRule[],
): Promise<PresentRules> {
  const isOfQueue = ({ metric }: AlarmRule): boolean => alarmMetrics[metric].of === 'queue'
  const createdAt: Record<string, number> = {}
  for (const queue of new Set(rules.filter(isOfQueue).map(({ of }) => of))) {
    const at = await creationOf(backend, queue)
    if (at !== undefined) createdAt[queue] = at
  }
  const present = rules.filter((rule) => !isOfQueue(rule) || Object.hasOwn(createdAt, rule.of))
  return { rules: present, createdAt }
}

/** Resolves with undefined if the queue does not exist. */
async function creationOf(
  backend: Pick<Backend, 'readQueue'>,
  queue: string,
): Promise<number | undefined> {
  try {
    return (await backend.readQueue({ queue })).createdAt
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'queue_not_found') return undefined
    throw error
  }
}
