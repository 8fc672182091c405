/**
 * Looks at queues and their consumers for what is refused on AWS, what loses messages, and what surprises people later.
 * Pure: it takes plain facts and answers findings, each with its reason and its repair.
 */
import { consumerRules } from './doctor-consumer-rules.ts'
import { queueRules } from './doctor-queue-rules.ts'
import type { DoctorRule, Finding, Severity } from './doctor-rule.ts'
import { type ExaminedQueues, factsOf } from './examined-facts.ts'

export const doctorRules: readonly DoctorRule[] = [...queueRules, ...consumerRules]

const order: readonly Severity[] = ['error', 'warning', 'hint']

/** All findings, errors first. */
export function examine(resolved: ExaminedQueues): readonly Finding[] {
  const facts = factsOf(resolved)
  return doctorRules
    .flatMap(({ name, severity, look }) =>
      look(facts).map((observation) => ({ rule: name, severity, ...observation })),
    )
    .sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity))
}
