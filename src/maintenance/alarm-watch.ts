/**
 * Keeps alarms declared and evaluated: a few seconds after each minute it looks what there is to watch,
 * and evaluates it. Whoever declares alarms is a source; what a source does not name any more is forgotten.
 */
import type { Backend } from '../backends/backend.ts'
import { alarmMetrics } from '../core/alarm-metrics.ts'
import type { AlarmRule } from '../core/alarm-rule.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { minuteMs, minuteOf } from '../core/minutes.ts'
import type { Timers } from '../core/ports.ts'
import type { Logger } from '../observability/logger.ts'
import { Agent, type AgentFailure, type SliceEnd } from './agent.ts'
import { AlarmEvaluator } from './alarm-evaluator.ts'

export interface AlarmSource {
  /** Whose alarms they are. */
  readonly owner: string
  /** What is declared at this moment. */
  rules(): Promise<readonly AlarmRule[]>
  /** Leaves alarms alone that another owner has under the same name. */
  readonly yields?: boolean
}

export interface AlarmWatchOptions {
  readonly backend: Backend
  readonly timers: Timers
  readonly log: Logger
  readonly sources: readonly AlarmSource[]
  /** Evaluates alarms of this owner alone. Default: all of the store, whoever declared them. */
  readonly owner?: string
  readonly onFailure?: (failure: AgentFailure) => void
}

/** Time for the sampler to write the minute down; the watch would do it itself. */
const afterMinuteMs = 5_000

export class AlarmWatch extends Agent {
  readonly #options: AlarmWatchOptions
  readonly #evaluator: AlarmEvaluator
  /** What each source had declared when this process last told the store. */
  readonly #told = new Map<string, string>()

  constructor(options: AlarmWatchOptions) {
    const { timers, onFailure } = options
    super({ timers, intervalMs: minuteMs, onFailure, slice: () => this.#slice() })
    this.#options = options
    this.#evaluator = new AlarmEvaluator(options)
  }

  /**
   * Tells the store what is declared, where that is not what it was told last. Whoever yields says it
   * each time: the alarm that went before may be gone.
   */
  async declare(): Promise<void> {
    const { backend, sources } = this.#options
    for (const { owner, rules, yields } of sources) {
      const present = await presentRules(backend, await rules())
      const text = JSON.stringify(present)
      if (!yields && this.#told.get(owner) === text) continue
      const yielding = yields !== undefined && { yields }
      await backend.alarms?.declareAlarms({ owner, rules: present, ...yielding })
      this.#told.set(owner, text)
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

/** A queue that was deleted has no alarms, until it is there again. */
async function presentRules(
  backend: Pick<Backend, 'readQueue'>,
  rules: readonly AlarmRule[],
): Promise<readonly AlarmRule[]> {
  const queues = new Set(
    rules.filter(({ metric }) => alarmMetrics[metric].of === 'queue').map(({ of }) => of),
  )
  const gone = new Set<string>()
  for (const queue of queues) {
    if (!(await exists(backend, queue))) gone.add(queue)
  }
  return rules.filter(({ metric, of }) => alarmMetrics[metric].of !== 'queue' || !gone.has(of))
}

async function exists(backend: Pick<Backend, 'readQueue'>, queue: string): Promise<boolean> {
  try {
    await backend.readQueue({ queue })
    return true
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'queue_not_found') return false
    throw error
  }
}
