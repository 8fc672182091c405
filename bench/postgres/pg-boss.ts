/**
 * pg-boss. It has no page about performance, so these settings were the fastest of several: large batches for rates,
 * notifications for a short wait. A notification of each job would make enqueueing four times as slow.
 */
import { PgBoss } from 'pg-boss'
import type { BenchJob, JobLibrary, OpenLibrary } from './job-library.ts'

const queue = 'bench'

export async function openPgBoss({ url, aim }: OpenLibrary): Promise<JobLibrary> {
  const notify = aim === 'latency'
  const boss = new PgBoss({ connectionString: url, max: 50, useListenNotify: notify })
  boss.on('error', console.error)
  await boss.start()
  await boss.createQueue(queue, { notify })
  return {
    enqueue: (job) => boss.send(queue, job),
    enqueueMany: (jobs) =>
      boss.insert(
        queue,
        jobs.map((data) => ({ data })),
      ),
    unfinished: async () => {
      const text = `SELECT count(*) AS unfinished FROM pgboss.job WHERE state < 'completed'`
      const { rows } = await boss.getDb().executeSql(text)
      return Number(rows[0]?.unfinished)
    },
    startWorker: async ({ handle }) => {
      const options =
        aim === 'latency'
          ? { batchSize: 100 }
          : { batchSize: 500, localConcurrency: 10, pollingIntervalSeconds: 0.5 }
      const burst = { burstWhenBatchFull: true }
      await boss.work<BenchJob>(queue, { ...options, ...burst }, async (jobs) => {
        for (const { data } of jobs) handle(data)
      })
      return () => boss.offWork(queue)
    },
    close: () => boss.stop(),
  }
}
