/** Millrace on Postgres, with its default settings. */
import { z } from 'zod'
import { type App, defineApp, type JobsQueue, jobs, open } from '../../src/index.ts'
import { postgres } from '../../src/postgres.ts'
import type { JobLibrary, OpenLibrary } from './job-library.ts'

const Payload = z.object({ number: z.number(), body: z.string() })

type BenchApp = App<{ bench: JobsQueue<{ OCR: typeof Payload }> }>

const app: BenchApp = defineApp('bench', {
  queues: { bench: jobs({ types: { OCR: Payload }, name: 'bench' }) },
})

export async function openMillrace({ url }: OpenLibrary): Promise<JobLibrary> {
  const mill = await open(app, { store: postgres(url) })
  return {
    enqueue: (job) => mill.jobs.enqueue('bench', 'OCR', job),
    enqueueMany: (all) =>
      mill.jobs.enqueueMany(
        'bench',
        all.map((payload) => ({ type: 'OCR', payload })),
      ),
    unfinished: async () => {
      const { ready, leased, delayed } = await mill.queues.bench.statistics()
      return ready + leased + delayed
    },
    startWorker: async ({ concurrency, handle }) => {
      const worker = mill.worker({ poll: ['bench'], concurrency, handle: { OCR: handle } })
      worker.start()
      return () => worker.stop()
    },
    close: () => mill.close(),
  }
}
