/** Enqueues and runs many jobs, so that a database has as many finished ones. */
import type { Contender } from './contender.ts'

/** Few enough for one request, on a slow machine too. */
const slice = 20_000

/** Without a vacuum, which is left to the server and the library. */
export async function finishJobs(contender: Contender, count: number): Promise<void> {
  for (let done = 0; done < count; done += slice) {
    const jobs = Math.min(slice, count - done)
    await contender.askProducer({ kind: 'fill', waiting: jobs })
    // No limit on the time: all of them are needed.
    const all = { kind: 'process', jobs, ms: 240_000, concurrency: 100 } as const
    await contender.askProducer<number>(all)
  }
}
