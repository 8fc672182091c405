/**
 * The resources of a template in any dialect: queues, functions, event sources and alarms. All references are
 * resolved. A reference that cannot be resolved is a problem, and never guessed.
 */
import type { AlarmSeverity } from '../core/alarm-rule.ts'
import type { QueueSettings } from '../core/queue-settings.ts'

export interface Stack {
  readonly name: string
  /** In the order of creation: dead-letter queues before the queues that use them. */
  readonly queues: readonly StackQueue[]
  readonly functions: readonly StackFunction[]
  readonly eventSources: readonly StackEventSource[]
  /** HTTP requests that invoke functions. */
  readonly routes: readonly StackRoute[]
  readonly alarms: readonly StackAlarm[]
}

/** A position in the user's files. Lines and columns count from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

export interface StackQueue {
  readonly logicalId: string
  readonly name: string
  /** Only the settings in the template. The others have the defaults of SQS. */
  readonly settings: Partial<QueueSettings>
  readonly tags: Readonly<Record<string, string>>
  readonly at: Place
}

export interface StackFunction {
  readonly logicalId: string
  readonly name: string
  /** As written: `src/handlers/grade.handler`. */
  readonly handler: string
  /** Absolute path of the folder to which the handler's path is relative. */
  readonly folder: string
  /** As written: `nodejs24.x`; null if missing. */
  readonly runtime: string | null
  readonly timeoutMs: number
  readonly memoryMb: number
  readonly environment: Readonly<Record<string, string>>
  readonly reservedConcurrency: number | null
  readonly at: Place
}

export interface StackEventSource {
  readonly logicalId: string
  /** The names of a queue and a function, not their logical ids. */
  readonly queue: string
  readonly function: string
  readonly batchSize: number
  readonly batchingWindowMs: number
  readonly maximumConcurrency: number | null
  readonly reportsBatchItemFailures: boolean
  /** Patterns as JSON values. A message passes if one of them matches. Empty: all messages pass. */
  readonly filters: readonly unknown[]
  readonly enabled: boolean
  readonly at: Place
}

/** A route of an API Gateway. */
export interface StackRoute {
  readonly logicalId: string
  /** The name of the function, not its logical id. */
  readonly function: string
  /** `http`: an HTTP API. `rest`: a REST API. */
  readonly api: 'http' | 'rest'
  /** The format of the event. */
  readonly payload: '1.0' | '2.0'
  /** In upper case, or `ANY`. */
  readonly method: string
  /** Such as `/users/{id}` or `/files/{proxy+}`; `$default` for requests that no other route matches. */
  readonly path: string
  /** The stage of the API: `$default`, `dev`, `Prod`. */
  readonly stage: string
  /** Whether requests of other origins are allowed. */
  readonly cors: boolean
  readonly at: Place
}

/** With the terms and values of CloudWatch. */
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
  /** From the tag `severity`: `warning` or `critical`. */
  readonly severity?: AlarmSeverity
  readonly at: Place
}

/** A value that could not be resolved or is not supported. */
export interface TemplateProblem {
  /** A stack with an error cannot be applied. */
  readonly severity: 'error' | 'warning'
  /** The path in the document: `Resources.Orders.Properties.RedrivePolicy`. */
  readonly path: string
  readonly message: string
  readonly at: Place
}

export interface ReadTemplate {
  /** Null if one of the problems is an error. */
  readonly stack: Stack | null
  readonly problems: readonly TemplateProblem[]
  /** Exports for other templates, by name. Values that are not known here are left out. */
  readonly exports: Readonly<Record<string, string>>
  /** Every file that was read, for file watchers. */
  readonly files: readonly string[]
}
