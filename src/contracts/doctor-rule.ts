/** A rule of the doctor, and a finding. */
import type { ExaminedFacts, ExaminedPlace } from './examined-facts.ts'

/** An error is refused on AWS or here. A warning can lose messages or time. A hint is advice. */
export type Severity = 'error' | 'warning' | 'hint'

export interface Finding {
  /** The name of the rule. */
  readonly rule: string
  readonly severity: Severity
  /** The name of the queue or function that the finding is about. */
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
