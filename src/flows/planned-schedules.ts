/** The schedules of an app with their rules, their names in the store, and what they send. */
import type { Backend, Emitted } from '../backends/backend.ts'
import type { ScheduleRecord } from '../backends/schedule-store.ts'
import type { App } from '../contracts/define-app.ts'
import {
  type NamedQueue,
  type NameScope,
  scopedName,
  valueName,
} from '../contracts/resolve-names.ts'
import type { MissedTicks, TickFacts } from '../contracts/schedule-declaration.ts'
import {
  definitionFrom,
  type ScheduleDefinition,
  targetsOf,
} from '../contracts/schedule-definition.ts'
import { ruleFromText, ruleOf, type ScheduleRule } from '../contracts/schedule-rule.ts'
import { scopeText } from '../contracts/scope-text.ts'
import type { Ports } from '../core/ports.ts'
import { createEmitter, type Emitter } from '../jobs/emitter.ts'
import { tracedEmitter } from '../jobs/traced-emitter.ts'
import type { Traces } from '../observability/traces.ts'

export interface PlannedSchedule {
  /** The key of a declared schedule, or the name that the schedule was set under. */
  readonly key: string
  /** The name in the store. */
  readonly name: string
  readonly rule: ScheduleRule
  readonly missed: MissedTicks
  /** When a declared schedule ends. The rule knows it too. */
  readonly until?: Date | undefined
  /** As the store has it; null if the schedule is declared. */
  readonly definition: string | null
  /** Whether `payload` is a function, so that each tick has its own message. */
  readonly isComputed: boolean
  /** The message or job of a tick. Rejects if it cannot be made or does not fit its contract. */
  emission(tick: TickIdentity): Promise<Emitted>
  /** The same, only to check it. */
  example(tick: TickIdentity): Promise<Emitted>
}

export interface TickIdentity {
  readonly at: Date
  /** Tells the message or job from those of other ticks. The store uses it to recognise a repetition. */
  readonly id: string
}

export interface SchedulePlanSetup {
  readonly app: App
  readonly stage: string
  readonly queues: readonly NamedQueue[]
  readonly backend: Backend
  readonly ports: Pick<Ports, 'clock' | 'ids'>
  readonly traces?: Traces | undefined
}

export interface SchedulePlan {
  readonly scope: string
  readonly declared: readonly PlannedSchedule[]
  /** The targets of schedules that this app can tick. */
  readonly targets: readonly string[]
  /** The name in the store of a schedule that is set at run time. */
  storedName(name: string): string
  /** The name of a schedule in the app: its key, or the name that it was set under. */
  nameOf(record: Pick<ScheduleRecord, 'schedule'>): string
  /** One that was set at run time, from what the store has of it. */
  planned(record: Pick<ScheduleRecord, 'schedule' | 'rule'>, definition: string): PlannedSchedule
  /** The message or job of a tick of a schedule that is not in the store yet, to check it. */
  example(name: string, definition: ScheduleDefinition, tick: TickIdentity): Promise<Emitted>
}

export function planSchedules(setup: SchedulePlanSetup): SchedulePlan {
  const { app, stage } = setup
  const emitter = createEmitter(setup)
  const traced = tracedEmitter(emitter, setup.traces)
  const names: NameScope = { app: app.name, stage }
  const example: SchedulePlan['example'] = (key, definition, tick) =>
    emissionOf({ app, emitter }, { key, definition }, tick)
  const emissions = (
    key: string,
    definition: ScheduleDefinition,
  ): Pick<PlannedSchedule, 'emission' | 'example'> => ({
    emission: (tick) => emissionOf({ app, emitter: traced }, { key, definition }, tick),
    example: (tick) => example(key, definition, tick),
  })
  const declared = Object.entries(app.schedules ?? {}).map(([key, { options }]) => ({
    key,
    name: scopedName(key, names),
    rule: ruleOf(options),
    missed: options.missed ?? defaultMissed,
    until: options.until,
    definition: null,
    isComputed: typeof options.payload === 'function',
    ...emissions(key, options),
  }))
  const keys = new Map(declared.map(({ key, name }) => [name, key]))
  const prefix = valueName('', names)
  const nameOf: SchedulePlan['nameOf'] = ({ schedule }) =>
    keys.get(schedule) ?? schedule.slice(prefix.length)
  return {
    scope: scopeText(names),
    declared,
    targets: targetsOf(app.queues),
    storedName: (name) => valueName(name, names),
    nameOf,
    planned: (record, text) => {
      const key = nameOf(record)
      const definition = definitionFrom(text)
      return {
        key,
        name: record.schedule,
        rule: ruleFromText(record.rule),
        missed: definition.missed ?? defaultMissed,
        definition: text,
        isComputed: false,
        ...emissions(key, definition),
      }
    },
    example,
  }
}

const defaultMissed: MissedTicks = 'once'

interface KeyedDefinition {
  readonly key: string
  readonly definition: ScheduleDefinition
}

async function emissionOf(
  { app, emitter }: { readonly app: App; readonly emitter: Emitter },
  { key, definition }: KeyedDefinition,
  { at, id }: TickIdentity,
): Promise<Emitted> {
  const { job, send } = definition
  const payload = await payloadOf(definition, { at, schedule: key })
  if (job !== undefined) {
    const { queue, type, ...options } = job
    return emitter.job(queue, type, payload, { ...options, idempotencyKey: id })
  }
  // A definition without a job has this one.
  const { queue = '', group = key } = send ?? {}
  const isOrdered = app.queues[queue]?.type === 'fifo'
  return emitter.message(queue, payload, isOrdered ? { group, deduplicationId: id } : {})
}

async function payloadOf(definition: ScheduleDefinition, tick: TickFacts): Promise<unknown> {
  const { payload = { at: tick.at.toISOString() } } = definition
  return typeof payload === 'function' ? payload(tick) : payload
}
