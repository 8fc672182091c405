/** Lets a worker take what there is, and stops it when nothing is left for it. */
import type { QueueInspector, Timers, Worker } from 'millrace'

export interface DrainSetup {
  readonly worker: Worker
  /** Those that the worker serves. */
  readonly queues: readonly Pick<QueueInspector, 'statistics'>[]
  readonly timers: Timers
}

const lookAgainMs = 100
/** So often in a row nothing was running: a job may be on its way between the queue and its handler. */
const idleLooks = 3
/** What is there and is not taken for so long is held by a switch or a ceiling. */
const heldLooks = 20

/**
 * What waits for a retry, for a kill switch or in the hands of other workers is not waited for: the
 * next worker takes it.
 */
export async function drain({ worker, queues, timers }: DrainSetup): Promise<void> {
  worker.start()
  for (let idle = 0; ; ) {
    const left = await available(queues)
    idle = worker.running > 0 ? 0 : idle + 1
    if (idle >= (left > 0 ? heldLooks : idleLooks)) break
    await new Promise<void>((resolve) => timers.after(lookAgainMs, resolve))
  }
  await worker.stop()
}

async function available(queues: DrainSetup['queues']): Promise<number> {
  const statistics = await Promise.all(queues.map((queue) => queue.statistics()))
  return statistics.reduce((sum, { ready }) => sum + ready, 0)
}
