/** What a rule of the doctor is, and what it finds. */
import type { ExaminedFacts, ExaminedPlace } from './examined-facts.ts'

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
