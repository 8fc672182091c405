/** The worker process of graphile-worker, set up as its performance page recommends. */
import { Logger, makeWorkerUtils, run, type Task } from 'graphile-worker'
import { answerRequests } from '../child-process.ts'
import { body } from '../load.ts'
import { perSecond } from '../report.ts'

export interface GraphileRequest {
  readonly kind: 'process'
  readonly count: number
  readonly concurrency: number
}

const connectionString = process.argv[2] ?? ''
/** Logs only problems, because a line per job would take most of the time. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' || level === 'warning') console.error(message)
})
const utils = await makeWorkerUtils({ connectionString, logger })
await utils.migrate()

answerRequests(async ({ count, concurrency }: GraphileRequest) => {
  await fill(count)
  let left = count
  let startedMs = 0
  let whenHandled = (): void => undefined
  const handled = new Promise<void>((resolve) => {
    whenHandled = resolve
  })
  const OCR: Task = () => {
    if (left === count) startedMs = performance.now()
    left -= 1
    if (left === 0) whenHandled()
  }
  const runner = await run({
    taskList: { OCR },
    noHandleSignals: true,
    preset: {
      worker: {
        connectionString,
        logger,
        concurrentJobs: concurrency,
        maxPoolSize: Math.max(10, concurrency + 2),
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  })
  await handled
  while ((await waiting()) > 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const rate = perSecond(count, performance.now() - startedMs)
  await runner.stop()
  return rate
})

/** 1,000 per call, then a vacuum, so that autovacuum does not run during the measurement. */
async function fill(count: number): Promise<void> {
  const jobs = Array.from({ length: 1_000 }, () => ({ identifier: 'OCR', payload: { body } }))
  for (let done = 0; done < count; done += jobs.length) await utils.addJobs(jobs)
  await utils.withPgClient((client) => client.query('VACUUM ANALYZE'))
}

/** Completed jobs are deleted rows. */
async function waiting(): Promise<number> {
  const text = 'SELECT count(*) AS waiting FROM graphile_worker.jobs'
  return utils.withPgClient(async (client) => {
    const { rows } = await client.query<{ readonly waiting: string }>(text)
    return Number(rows[0]?.waiting)
  })
}
