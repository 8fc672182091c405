/**
 * Checks queues and their consumers for settings that AWS refuses, that lose messages, or that surprise
 * people later. Pure: takes plain facts and returns findings, each with a reason and a fix.
 */
import { consumerRules } from './doctor-consumer-rules.ts'
import { queueRules } from './doctor-queue-rules.ts'
import type { DoctorRule, Finding, Severity } from './doctor-rule.ts'
import { storeRules } from './doctor-store-rules.ts'
import { type ExaminedQueues, factsOf } from './examined-facts.ts'

export const doctorRules: readonly DoctorRule[] = [...queueRules, ...consumerRules, ...storeRules]

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
