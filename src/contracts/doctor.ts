/**
 * Looks at a topology for what is refused on AWS, what loses messages, and what surprises people later.
 * Pure: it takes plain facts and answers findings, each with its reason and its repair.
 */
import type { QueueSettings } from '../core/queue-settings.ts'
import { consumerRules } from './doctor-consumer-rules.ts'
import { queueRules } from './doctor-queue-rules.ts'
import { type ExaminedFacts, factsOf } from './examined-facts.ts'

export interface ExaminedTopology {
  readonly queues: readonly ExaminedQueue[]
  /** Functions that queues feed, as Lambda does it. */
  readonly consumers: readonly ExaminedConsumer[]
}

export interface ExaminedQueue {
  readonly name: string
  /** What was said; the rest is as SQS has it. */
  readonly settings: Partial<QueueSettings>
  /** Whether somebody other than the consumers takes messages out of it. */
  readonly isConsumed?: boolean
  /** Whether its messages are tracked jobs. */
  readonly hasJobs?: boolean
  /** Whether an alarm watches its depth; undefined when that is not known here. */
  readonly isWatched?: boolean
  readonly at?: ExaminedPlace
}

export interface ExaminedConsumer {
  /** The function. One function may have several queues. */
  readonly name: string
  readonly queue: string
  readonly timeoutMs: number
  readonly batchSize: number
  readonly batchingWindowMs: number
  readonly maximumConcurrency: number | null
  /** Of the function, for all of its queues together. */
  readonly reservedConcurrency: number | null
  readonly reportsBatchItemFailures: boolean
  readonly at?: ExaminedPlace
}

export interface ExaminedPlace {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** An error is refused on AWS or here, a warning loses messages or time, a hint is good to know. */
export type Severity = 'error' | 'warning' | 'hint'

export interface Finding {
  /** The name of the rule. */
  readonly rule: string
  readonly severity: Severity
  /** The queue or the function that it is about. */
  readonly subject: string
  readonly reason: string
  readonly fix: string
  readonly at?: ExaminedPlace
}

export interface DoctorRule {
  readonly name: string
  readonly severity: Severity
  /** What the rule finds, for the documentation. */
  readonly finds: string
  readonly look: (facts: ExaminedFacts) => readonly Observation[]
}

export type Observation = Omit<Finding, 'rule' | 'severity'>

export const doctorRules: readonly DoctorRule[] = [...queueRules, ...consumerRules]

const order: readonly Severity[] = ['error', 'warning', 'hint']

/** All findings, errors first. */
export function examine(topology: ExaminedTopology): readonly Finding[] {
  const facts = factsOf(topology)
  return doctorRules
    .flatMap(({ name, severity, look }) =>
      look(facts).map((observation) => ({ rule: name, severity, ...observation })),
    )
    .sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity))
}
