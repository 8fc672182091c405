/** Enqueues jobs after a few that do not count, which open the connections and prepare the statements. */
import type { Enqueue, Enqueued } from './contender.child.ts'
import type { Contender } from './contender.ts'

/** Returns the number of all jobs, and the rate of those that count. */
export async function warmEnqueue(contender: Contender, load: Enqueue): Promise<Enqueued> {
  const few = { ...load, jobs: load.inFlight * load.perCall }
  const first = await contender.askProducer<Enqueued>({ kind: 'enqueue', ...few })
  const { count, rate } = await contender.askProducer<Enqueued>({ kind: 'enqueue', ...load })
  return { count: first.count + count, rate }
}
