/** The main part of a program with workers: runs them until the process is asked to stop, then ends everything in order. */
import { onStopSignal } from '../core/stop-signals.ts'
import type { Worker } from '../worker/worker.ts'
import type { Mill } from './open.ts'

/** A worker, or something that has started and can be stopped, such as a server of `node:http`. */
export type ProgramPart = Pick<Worker, 'run' | 'stop'> | Stoppable | AsyncDisposable

export interface Stoppable {
  stop(): unknown
}

/**
 * Runs workers until SIGTERM or SIGINT. Then all parts stop, side by side: workers take no more work and wait for their
 * handlers. The app is closed last. Resolves when all of it has ended. It also ends when all workers have, and rejects
 * when one has lost its store. A second signal exits the process at once.
 */
export async function runUntilSignal(
  mill: Pick<Mill, 'close'>,
  ...parts: readonly ProgramPart[]
): Promise<void> {
  const { promise: signalled, resolve } = Promise.withResolvers<void>()
  const stopListening = onStopSignal(resolve)
  const runs = parts.filter(isWorker).map((worker) => worker.run())
  try {
    await Promise.race([signalled, ...(runs.length > 0 ? [Promise.all(runs)] : [])])
  } catch {
    // The reason is among the ends of the workers.
  }
  const ends = await Promise.allSettled([...runs, ...parts.map(stop)])
  try {
    await mill.close()
  } finally {
    stopListening()
  }
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

function isWorker(part: ProgramPart): part is Pick<Worker, 'run' | 'stop'> {
  return 'run' in part
}

async function stop(part: ProgramPart): Promise<void> {
  await ('stop' in part ? part.stop() : part[Symbol.asyncDispose]())
}
