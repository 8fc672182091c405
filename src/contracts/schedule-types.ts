/** Checks at compile time that the payload of a schedule fits the contract of its queue or job type. */
import type { JobInput, JobsQueue, JobTypeName } from './jobs-declaration.ts'
import type { DeclaredQueue, DeclaredQueues, FifoQueue, MessageInput } from './queue-declaration.ts'
import type {
  DeclaredSchedule,
  FixedPayload,
  ScheduledJob,
  ScheduledSend,
  ScheduleOptions,
  SchedulePolicy,
  ScheduleTarget,
  ScheduleTiming,
  TickFacts,
} from './schedule-declaration.ts'

/** A schedule that is set at run time: it names queues and job types of the app, and has a fixed payload. */
export type RuntimeSchedule<Queues extends DeclaredQueues = DeclaredQueues> = ScheduleTiming &
  SchedulePolicy &
  (string extends keyof Queues ? UntypedPart : JobPart<Queues> | SendPart<Queues>)

/** The queues are not known to the compiler. */
type UntypedPart = ScheduleTarget & { readonly payload?: FixedPayload }

type JobPart<Queues extends DeclaredQueues> = {
  [Key in keyof Queues & string]: Queues[Key] extends JobsQueue
    ? {
        [Type in JobTypeName<Queues[Key]>]: {
          readonly job: ScheduledJob<Key, Type>
          readonly send?: undefined
        } & PayloadPart<JobInput<Queues[Key], Type>>
      }[JobTypeName<Queues[Key]>]
    : never
}[keyof Queues & string]

type SendPart<Queues extends DeclaredQueues> = {
  [Key in keyof Queues & string]: Queues[Key] extends JobsQueue
    ? never
    : {
        readonly send: SendTo<Queues[Key], Key>
        readonly job?: undefined
      } & PayloadPart<MessageInput<Queues[Key]>>
}[keyof Queues & string]

type SendTo<Queue extends DeclaredQueue, Key extends string> = [Queue] extends [FifoQueue]
  ? ScheduledSend<Key>
  : Omit<ScheduledSend<Key>, 'group'> & { readonly group?: undefined }

/** Without a payload, a tick sends this. */
interface DefaultPayload {
  readonly at: string
}

/** The payload may be left out if the contract accepts the default one. */
type PayloadPart<Input> = DefaultPayload extends Input
  ? { readonly payload?: Input }
  : { readonly payload: Input }

/** The schedules as declared. Each names a queue of the app, and its payload fits the contract. */
export type CheckedSchedules<Queues extends DeclaredQueues, Parts> = Parts extends {
  readonly schedules: infer Schedules
}
  ? {
      readonly schedules: {
        readonly [Key in keyof Schedules]: CheckedSchedule<Queues, Schedules[Key]>
      }
    }
  : unknown

type CheckedSchedule<Queues extends DeclaredQueues, Declared> =
  Declared extends DeclaredSchedule<infer Options>
    ? DeclaredSchedule<CheckedOptions<Queues, Options>>
    : Declared

type CheckedOptions<Queues extends DeclaredQueues, Options extends ScheduleOptions> = Options &
  TargetCheck<Queues, Options> &
  PayloadCheck<InputOf<Queues, Options>, Options>

/** A queue or type that the compiler does not know by name is checked when the app is declared. */
type TargetCheck<Queues extends DeclaredQueues, Options> = Options extends {
  readonly job: { readonly queue: infer Key; readonly type: infer Type }
}
  ? string extends Key | Type
    ? unknown
    : {
        readonly job: {
          readonly queue: JobsKey<Queues>
          readonly type: Key extends JobsKey<Queues> ? JobTypeName<Queues[Key]> : string
        }
      }
  : Options extends { readonly send: { readonly queue: infer Key } }
    ? string extends Key
      ? unknown
      : { readonly send: { readonly queue: Exclude<keyof Queues & string, JobsKey<Queues>> } }
    : unknown

type JobsKey<Queues extends DeclaredQueues> = {
  [Key in keyof Queues & string]: Queues[Key] extends JobsQueue ? Key : never
}[keyof Queues & string]

/** What the contract accepts; unknown if the target is not known to the compiler, or wrong anyway. */
type InputOf<Queues extends DeclaredQueues, Options> = Options extends {
  readonly job: { readonly queue: infer Key; readonly type: infer Type }
}
  ? Key extends JobsKey<Queues>
    ? Type extends JobTypeName<Queues[Key]>
      ? JobInput<Queues[Key], Type>
      : unknown
    : unknown
  : Options extends { readonly send: { readonly queue: infer Key } }
    ? Key extends keyof Queues
      ? MessageInput<Queues[Key]>
      : unknown
    : unknown

type PayloadCheck<Input, Options> = unknown extends Input
  ? unknown
  : Options extends { readonly payload: infer Payload }
    ? Payload extends (tick: TickFacts) => unknown
      ? { readonly payload: (tick: TickFacts) => Frozen<Input> | Promise<Frozen<Input>> }
      : { readonly payload: Frozen<Input> }
    : DefaultPayload extends Frozen<Input>
      ? unknown
      : { readonly payload: Frozen<Input> }

/** The compiler infers a declared payload as deeply readonly. */
type Frozen<Value> = Value extends object
  ? { readonly [Key in keyof Value]: Frozen<Value[Key]> }
  : Value
