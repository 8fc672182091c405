/** An app before the doctor. Its workers renew their leases, so Lambda's rules are not theirs. */
import { examine } from './doctor.ts'
import type { Finding } from './doctor-rule.ts'
import type { ExaminedTopology } from './examined-facts.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { Topology } from './resolve-topology.ts'

export function examineApp(topology: Topology): readonly Finding[] {
  return examine(examinedApp(topology))
}

export function examinedApp({ planned, queues }: Topology): ExaminedTopology {
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
