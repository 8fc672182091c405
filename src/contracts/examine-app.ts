/**
 * Runs the doctor on an app. Its workers renew their leases, so the rules about Lambda do not apply to them.
 */
import { examine } from './doctor.ts'
import type { Finding } from './doctor-rule.ts'
import type { ExaminedQueues } from './examined-facts.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { ResolvedQueues } from './resolve-queues.ts'

export function examineApp(resolved: ResolvedQueues): readonly Finding[] {
  return examine(examinedApp(resolved))
}

export function examinedApp({ planned, queues }: ResolvedQueues): ExaminedQueues {
  const declared = new Set(queues.map(({ name }) => name))
  const withJobs = new Set(
    queues.flatMap(({ name, declared: one }) => (isJobsQueue(one) ? name : [])),
  )
  const targets = new Set(planned.map(({ settings }) => settings.deadLetter?.queue))
  return {
    queues: planned.map(({ queue, settings }) => ({
      name: queue,
      settings,
      isConsumed: declared.has(queue) && !targets.has(queue),
      hasJobs: withJobs.has(queue),
    })),
    consumers: [],
  }
}
