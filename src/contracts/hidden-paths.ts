/** The paths in the messages of a queue that nobody is shown: what its contract calls secret or personal. */
import { isJobsQueue, jobTypeOf } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'

/** @param type of a job; without it the paths of all types of the queue, since it may be any of them */
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
