/** The declared schedules of an app with their rules, their names in the store, and what they send. */
import type { Backend, Emitted } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import { type NamedQueue, scopedName } from '../contracts/resolve-names.ts'
import type { MissedTicks, ScheduleOptions, TickFacts } from '../contracts/schedule-declaration.ts'
import { ruleOf, type ScheduleRule } from '../contracts/schedule-rule.ts'
import { scopeText } from '../contracts/scope-text.ts'
import type { Ports } from '../core/ports.ts'
import { createEmitter, type Emitter } from '../jobs/emitter.ts'
import { tracedEmitter } from '../jobs/traced-emitter.ts'
import type { Traces } from '../observability/traces.ts'

export interface PlannedSchedule {
  /** The key in the app. */
  readonly key: string
  /** The name in the store. */
  readonly name: string
  readonly scope: string
  readonly rule: ScheduleRule
  readonly missed: MissedTicks
  /** Whether `payload` is a function, so that each tick has its own message. */
  readonly isComputed: boolean
  /** The message or job of a tick. Rejects if it cannot be made or does not fit its contract. */
  emission(tick: TickIdentity): Promise<Emitted>
}

export interface TickIdentity {
  readonly at: Date
  /** The id of this message or job. The store uses it to recognise a repetition. */
  readonly id: string
}

export interface SchedulePlan {
  readonly app: App
  readonly stage: string
  readonly queues: readonly NamedQueue[]
  readonly backend: Backend
  readonly ports: Pick<Ports, 'clock' | 'ids'>
  readonly traces?: Traces | undefined
}

export function planSchedules(plan: SchedulePlan): readonly PlannedSchedule[] {
  const { app, stage } = plan
  const emitter = tracedEmitter(createEmitter(plan), plan.traces)
  const names = { app: app.name, stage }
  return Object.entries(app.schedules ?? {}).map(([key, { options }]) => {
    const isOrdered = app.queues[options.queue]?.type === 'fifo'
    return {
      key,
      name: scopedName(key, names),
      scope: scopeText(names),
      rule: ruleOf(options),
      missed: options.missed ?? 'once',
      isComputed: typeof options.payload === 'function',
      emission: (tick) => emissionOf(emitter, { key, options, isOrdered }, tick),
    }
  })
}

interface KeyedOptions {
  readonly key: string
  readonly options: ScheduleOptions
  /** Whether the queue is a FIFO queue. */
  readonly isOrdered: boolean
}

async function emissionOf(
  emitter: Emitter,
  { key, options, isOrdered }: KeyedOptions,
  { at, id }: TickIdentity,
): Promise<Emitted> {
  const { queue, type, group = key } = options
  const payload = await payloadOf(options, { at, schedule: key })
  if (type !== undefined) return emitter.job(queue, type, payload, { idempotencyKey: id })
  return emitter.message(queue, payload, isOrdered ? { group, deduplicationId: id } : {})
}

async function payloadOf(options: ScheduleOptions, tick: TickFacts): Promise<unknown> {
  const { payload = { at: tick.at.toISOString() } } = options
  return typeof payload === 'function' ? payload(tick) : payload
}
