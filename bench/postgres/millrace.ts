/** Millrace on Postgres, with its default settings. */
import { z } from 'zod'
import { openPostgres } from '../../src/backends/postgres/index.ts'
import { type App, defineApp, type JobsQueue, jobs, type Mill, open } from '../../src/index.ts'
import type { JobLibrary, OpenLibrary } from './job-library.ts'

const Payload = z.object({ number: z.number(), body: z.string() })

type BenchApp = App<{ bench: JobsQueue<{ OCR: typeof Payload }> }>

const app: BenchApp = defineApp('bench', {
  queues: { bench: jobs({ types: { OCR: Payload }, name: 'bench' }) },
})

export async function openMillrace({ url }: OpenLibrary): Promise<JobLibrary> {
  const { mill, close } = await openStore(url)
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
    close,
  }
}

interface OpenedStore {
  readonly mill: Mill<BenchApp>
  close(): Promise<void>
}

async function openStore(url: string): Promise<OpenedStore> {
  const { backend } = await openPostgres({ url })
  const mill = await open(app, { backend })
  return {
    mill,
    close: async () => {
      await mill.close()
      await backend.close()
    },
  }
}
