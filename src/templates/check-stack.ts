/**
 * Checks the queues of a stack together: duplicate names, and cycles or wrong types of dead-letter queues.
 * SQS would reject these too, but later and one at a time.
 */
import type { Origin } from './node.ts'
import type { Problems } from './problems.ts'
import type { StackQueue } from './stack.ts'

export interface PlacedQueue {
  readonly queue: StackQueue
  /** The positions of the queue and of its redrive policy. */
  readonly origin: Origin
  readonly deadLetterAt: Origin
}

/** The queues in the order of creation: dead-letter queues first. */
export function orderQueues(
  placed: readonly PlacedQueue[],
  problems: Problems,
): readonly StackQueue[] {
  const byName = new Map<string, PlacedQueue>()
  for (const one of placed) {
    const { name, logicalId } = one.queue
    const other = byName.get(name)
    if (other === undefined) byName.set(name, one)
    else {
      const owner = other.queue.logicalId
      problems.error(one.origin, `'${logicalId}' and '${owner}' both have the name '${name}'.`)
    }
  }
  for (const one of byName.values()) checkTarget(one, byName, problems)
  return sorted(byName, problems)
}

function checkTarget(
  { queue, deadLetterAt }: PlacedQueue,
  byName: ReadonlyMap<string, PlacedQueue>,
  problems: Problems,
): void {
  const { deadLetter, type = 'standard' } = queue.settings
  if (deadLetter === undefined || deadLetter === null) return
  const target = byName.get(deadLetter.queue)
  if (deadLetter.queue === queue.name) {
    problems.error(deadLetterAt, 'A queue cannot be its own dead-letter queue.')
    return
  }
  const isFifo = deadLetter.queue.endsWith('.fifo')
  if (isFifo !== (type === 'fifo')) {
    const other = isFifo ? 'FIFO' : 'standard'
    problems.error(
      deadLetterAt,
      `The dead-letter queue of a ${type === 'fifo' ? 'FIFO' : 'standard'} queue must have the same type; '${deadLetter.queue}' is ${other}.`,
    )
  }
  if (target === undefined) {
    problems.warning(deadLetterAt, mustExist(deadLetter.queue))
    return
  }
  const { deadLetterSources = 'all' } = target.queue.settings
  if (deadLetterSources === 'all' || deadLetterSources.includes(queue.name)) return
  problems.error(
    deadLetterAt,
    `The RedriveAllowPolicy of '${deadLetter.queue}' does not allow '${queue.name}'.`,
  )
}

export function mustExist(queue: string): string {
  return `The template does not create the queue '${queue}'. It must already exist.`
}

function sorted(
  byName: ReadonlyMap<string, PlacedQueue>,
  problems: Problems,
): readonly StackQueue[] {
  const done = new Map<string, StackQueue>()
  for (const start of byName.values()) {
    const path = new Set<PlacedQueue>()
    let next: PlacedQueue | undefined = start
    while (next !== undefined && !done.has(next.queue.name) && !path.has(next)) {
      path.add(next)
      next = byName.get(next.queue.settings.deadLetter?.queue ?? '')
    }
    // A queue that names itself was already reported.
    if (next !== undefined && path.size > 1 && path.has(next)) {
      problems.error(
        next.deadLetterAt,
        'The dead letters of this queue return to it through other queues.',
      )
    }
    for (const { queue } of [...path].reverse()) done.set(queue.name, queue)
  }
  return [...done.values()]
}
