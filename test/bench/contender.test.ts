/** The benchmark on Postgres runs each library alike, and notices jobs that are lost or run twice. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { attemptsOf } from '../../bench/postgres/attempts.ts'
import type { Call, Enqueued, Start } from '../../bench/postgres/contender.child.ts'
import { Contender, type ContenderOptions } from '../../bench/postgres/contender.ts'
import { libraryNames } from '../../bench/postgres/job-library.ts'
import { StartCounts } from '../../bench/postgres/start-counts.ts'
import { freshDatabase } from '../services/fresh-database.ts'

async function contender(options: Omit<ContenderOptions, 'database'>): Promise<Contender> {
  const createDatabase = async (): Promise<string> => (await freshDatabase()).url
  const started = await Contender.start({ createDatabase }, { ...options, database: 'bench' })
  onTestFinished(() => started.end())
  return started
}

describe.for(libraryNames)('%s in the benchmark', (library) => {
  test('ends a measurement when the worker has finished enough of the jobs', async () => {
    const measured = await contender({ library })
    const rate = await measured.whileOpen(async () => {
      await measured.askProducer({ kind: 'fill', waiting: 1_500 })
      const few = { kind: 'process', jobs: 700, ms: 30_000, concurrency: 10 } as const
      return measured.askWorker<number>(few)
    })
    const { counts } = measured
    assert.ok(rate > 0)
    assert.ok(counts.started >= 700 && counts.started <= 1_500, `${counts.started} were started`)
    assert.deepEqual(attemptsOf(counts), { enqueued: 1_500, lost: 0, repeated: 0 })
  })

  test('enqueues one by one and in bulk, up to a number of jobs', async () => {
    const measured = await contender({ library })
    await measured.whileOpen(async () => {
      const limits = { kind: 'enqueue', jobs: 50, ms: 30_000 } as const
      const singles = { ...limits, inFlight: 10, perCall: 1 }
      assert.equal((await measured.askProducer<Enqueued>(singles)).count, 50)
      const bulk = { ...limits, inFlight: 1, perCall: 100 }
      assert.equal((await measured.askProducer<Enqueued>(bulk)).count, 100)
    })
    assert.deepEqual(measured.counts, { enqueued: 150, started: 0, repeated: 0, unfinished: 150 })
  })

  test('starts jobs in another process than the one that enqueues them', async () => {
    const measured = await contender({ library, aim: 'latency', processes: 2 })
    await measured.whileOpen(async () => {
      await measured.askWorker({ kind: 'startWorker', concurrency: 10 })
      const steadily = { kind: 'steadily', count: 20, perSecond: 100 } as const
      const calls = await measured.askProducer<readonly Call[]>(steadily)
      const starts = await measured.askWorker<readonly Start[]>({ kind: 'starts', count: 20 })
      const startOf = new Map(starts.map(({ job, startedMs }) => [job, startedMs]))
      for (const { job, calledMs } of calls) {
        assert.ok((startOf.get(job) ?? 0) > calledMs, `job ${job} started before it was enqueued`)
      }
      await measured.askProducer({ kind: 'finish', unfinished: 0 })
      await measured.askWorker({ kind: 'stopWorker' })
    })
    assert.deepEqual(measured.counts, { enqueued: 20, started: 20, repeated: 0, unfinished: 0 })
  })
})

describe('the jobs of a benchmark', () => {
  test('are lost if they were never started and do not wait', () => {
    const counts = { enqueued: 10, started: 6, repeated: 0, unfinished: 3 }
    assert.deepEqual(attemptsOf(counts), { enqueued: 10, lost: 1, repeated: 0 })
  })

  test('are repeated if they were started twice, or were started and still wait', () => {
    const counts = { enqueued: 10, started: 8, repeated: 1, unfinished: 4 }
    assert.deepEqual(attemptsOf(counts), { enqueued: 10, lost: 0, repeated: 3 })
  })

  test('are counted once, however many there are', () => {
    const counts = new StartCounts()
    const jobs = [0, 5_000, 0, 1, 1_000_000, 5_000, 0]
    assert.deepEqual(
      jobs.map((job) => counts.add(job)),
      [true, true, false, true, true, false, false],
    )
    assert.deepEqual([counts.started, counts.repeated], [4, 3])
  })
})
