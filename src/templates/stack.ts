/**
 * What a template declares, whatever its dialect: queues, functions, what feeds them, and alarms. Every
 * reference in it is resolved; what could not be is a problem, and never guessed.
 */
import type { AlarmSeverity } from '../core/alarm-rule.ts'
import type { QueueSettings } from '../core/queue-settings.ts'

export interface Stack {
  readonly name: string
  /** In the order in which they can be created: dead-letter queues before those that need them. */
  readonly queues: readonly StackQueue[]
  readonly functions: readonly StackFunction[]
  readonly eventSources: readonly StackEventSource[]
  readonly alarms: readonly StackAlarm[]
}

/** Where in the user's files something stands. Lines and columns count from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

export interface StackQueue {
  readonly logicalId: string
  readonly name: string
  /** Only what the template says; the rest is as SQS has it. */
  readonly settings: Partial<QueueSettings>
  readonly tags: Readonly<Record<string, string>>
  readonly at: Place
}

export interface StackFunction {
  readonly logicalId: string
  readonly name: string
  /** As written: `src/handlers/grade.handler`. */
  readonly handler: string
  /** Absolute: the folder that the handler's path is relative to. */
  readonly folder: string
  /** As written: `nodejs24.x`; null where the template does not say. */
  readonly runtime: string | null
  readonly timeoutMs: number
  readonly memoryMb: number
  readonly environment: Readonly<Record<string, string>>
  readonly reservedConcurrency: number | null
  readonly at: Place
}

export interface StackEventSource {
  readonly logicalId: string
  /** The names of a queue and of a function of AWS, not their logical ids. */
  readonly queue: string
  readonly function: string
  readonly batchSize: number
  readonly batchingWindowMs: number
  readonly maximumConcurrency: number | null
  readonly reportsBatchItemFailures: boolean
  /** Patterns as JSON values; a message passes when one of them matches. Empty: all pass. */
  readonly filters: readonly unknown[]
  readonly enabled: boolean
  readonly at: Place
}

/** In CloudWatch's words and values. */
export interface StackAlarm {
  readonly logicalId: string
  readonly name: string
  readonly description: string | null
  readonly namespace: string
  readonly metric: string
  /** The queue that the alarm watches. */
  readonly queue: string
  readonly statistic: string
  readonly periodMs: number
  readonly evaluationPeriods: number
  readonly datapointsToAlarm: number
  readonly threshold: number
  readonly comparison: string
  readonly treatMissingData: string
  /** As a tag says it: `warning` or `critical`. Absent where none does. */
  readonly severity?: AlarmSeverity
  readonly at: Place
}

/** Something that could not be resolved or is not supported. */
export interface TemplateProblem {
  /** An error keeps the stack from going up; a warning is told. */
  readonly severity: 'error' | 'warning'
  /** Where in the document: `Resources.Orders.Properties.RedrivePolicy`. */
  readonly path: string
  readonly message: string
  readonly at: Place
}

export interface ReadTemplate {
  /** Null when there is an error among the problems. */
  readonly stack: Stack | null
  readonly problems: readonly TemplateProblem[]
  /** What other templates may import, by name; what has no value here is left out. */
  readonly exports: Readonly<Record<string, string>>
  /** Every file that was read, for those who watch them. */
  readonly files: readonly string[]
}
