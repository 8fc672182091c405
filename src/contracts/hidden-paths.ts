/** The paths in a queue's messages that its contract marks as secret or personal, so that they are masked. */
import { isJobsQueue, jobTypeOf } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'

/** @param type of a job; without it, returns the paths of all job types of the queue */
export function hiddenPathsOf(declared: DeclaredQueue, type?: string): readonly string[] {
  if (!isJobsQueue(declared)) return pathsIn(declared.options)
  const types = type === undefined ? Object.keys(declared.options.types) : [type]
  return types.flatMap((name) => pathsIn(jobTypeOf(declared, name) ?? {}))
}

interface Marked {
  readonly secret?: readonly string[]
  readonly personal?: readonly string[]
}

function pathsIn({ secret = [], personal = [] }: Marked): readonly string[] {
  return [...secret, ...personal]
}
