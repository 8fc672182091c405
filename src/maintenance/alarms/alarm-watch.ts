/**
 * Keeps alarms declared and evaluated: a few seconds after each minute it looks what there is to watch,
 * and evaluates it. Whoever declares alarms is a source; what a source does not name any more is forgotten.
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
  /** Whose alarms they are. */
  readonly owner: string
  /** What is declared at this moment. */
  rules(): Promise<readonly AlarmRule[]>
  /** Leaves alarms alone that another owner has under the same name. */
  readonly yields?: boolean
  /** Others may declare alarms of this owner too: what none of them has named for so long is forgotten. */
  readonly abandonedAfterMs?: number
  /** The names of all that it may declare; what it leaves out of them at present is forgotten at once. */
  readonly names?: readonly string[]
}

export interface AlarmWatchOptions {
  readonly backend: Backend
  readonly timers: Timers
  readonly onChange: (change: AlarmChange) => void
  readonly sources: readonly AlarmSource[]
  /** Evaluates alarms of this owner alone. Default: all of the store, whoever declared them. */
  readonly owner?: string
  readonly onFailure?: (failure: ServiceFailure) => void
}

/** Time for the sampler to write the minute down; the watch would do it itself. */
const afterMinuteMs = 5_000

const endReason =
  'It is not declared any more, its queue was deleted, or it is left to another alarm.'

export class AlarmWatch extends Service {
  readonly #options: AlarmWatchOptions
  readonly #evaluator: AlarmEvaluator
  /** What each source had declared, and of which queues, when this process last told the store. */
  readonly #told = new Map<string, string>()

  constructor(options: AlarmWatchOptions) {
    const { timers, onFailure } = options
    super({ timers, intervalMs: minuteMs, onFailure, slice: () => this.#slice() })
    this.#options = options
    this.#evaluator = new AlarmEvaluator(options)
  }

  /**
   * Tells the store what is declared, where that is not what it was told last. Whoever yields says it
   * each time: the alarm that went before may be gone. So does whoever shares its alarms with others, which
   * would otherwise take them for abandoned. A source that fails does not hold up the others.
   */
  async declare(): Promise<void> {
    const failures: unknown[] = []
    // One after the other: a later one leaves alone what an earlier one watches.
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

  /** What is declared no more is about to be forgotten. */
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
    // What a source could not say must not keep the others from being watched.
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
   * When their queues were created. One that is another than last time may have lost its alarms to
   * somebody who looked while it was gone.
   */
  readonly createdAt: Readonly<Record<string, number>>
}

/** A queue that was deleted has no alarms, until it is there again. */
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

/** Undefined when there is no such queue. */
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
