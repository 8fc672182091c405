/** graphile-worker, set up as its performance page recommends for many fast jobs. */
import { Logger, makeWorkerUtils, run, type Task } from 'graphile-worker'
import type { BenchJob, JobLibrary, OpenLibrary } from './job-library.ts'

/** Logs only problems, because a line per job would take most of the time. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' || level === 'warning') console.error(message)
})

export async function openGraphileWorker({ url }: OpenLibrary): Promise<JobLibrary> {
  const utils = await makeWorkerUtils({ connectionString: url, logger })
  await utils.migrate()
  return {
    enqueue: (job) => utils.addJob('OCR', job),
    enqueueMany: (jobs) => utils.addJobs(jobs.map((payload) => ({ identifier: 'OCR', payload }))),
    // Finished jobs are deleted.
    unfinished: () =>
      utils.withPgClient(async (client) => {
        const text = 'SELECT count(*) AS unfinished FROM graphile_worker.jobs'
        const { rows } = await client.query<{ readonly unfinished: string }>(text)
        return Number(rows[0]?.unfinished)
      }),
    startWorker: async ({ concurrency, handle }) => {
      const OCR: Task = (payload) => handle(payload as BenchJob)
      const runner = await run({
        taskList: { OCR },
        noHandleSignals: true,
        preset: {
          worker: {
            connectionString: url,
            logger,
            concurrentJobs: concurrency,
            maxPoolSize: Math.max(10, concurrency + 2),
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      })
      return () => runner.stop()
    },
    close: async () => {
      await utils.release()
    },
  }
}
