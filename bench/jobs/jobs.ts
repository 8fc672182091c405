/** Tracked jobs, step by step and as a whole, beside the raw limit of the store they live in. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Backend } from '../../src/backends/backend.ts'
import type { JobStore } from '../../src/backends/job-store.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { consumeTens, inScratchFolder, queue } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import { RawStore } from '../raw-sqlite.ts'
import { perSecond, type Report, type Row, ratioRow } from '../report.ts'

interface Size {
  readonly rounds: number
  readonly batch: number
  readonly history: number
}

/** 200 bytes of JSON. */
const payload = JSON.stringify('j'.repeat(198))
const job = { type: 'OCR', payload, maxAttempts: 3, owner: 'user-1' }

export async function benchJobs({ isQuick }: BenchOptions): Promise<Report> {
  const size: Size = isQuick
    ? { rounds: 2, batch: 5_000, history: 20_000 }
    : { rounds: 7, batch: 20_000, history: 1_000_000 }
  return inScratchFolder(async (folder) => ({
    title: 'Tracked jobs in the embedded store',
    notes: [
      `Payloads of 200 bytes, jobs with an owner; medians of ${size.rounds} rounds in which all take turns`,
      'Raw: bare statements of node:sqlite on a table with one index',
      'Workers here receive and settle through the port, in this process',
    ],
    rows: [...(await throughput(folder, size)), await diskRow(folder, size)],
  }))
}

interface Round {
  readonly insert: number
  readonly bulkInsert: number
  readonly claim: number
  readonly enqueue: number
  readonly bulkEnqueue: number
  readonly complete: number
  readonly enqueueWaiting: number
  readonly completeWaiting: number
  readonly enqueueFinished: number
  readonly completeFinished: number
}

async function throughput(folder: string, size: Size): Promise<readonly Row[]> {
  const raw = new RawStore(join(folder, 'raw.db'))
  const fresh = await openJobs(join(folder, 'fresh.db'))
  const waiting = await openJobs(join(folder, 'waiting.db'))
  const finished = await openJobs(join(folder, 'finished.db'))
  await enqueueBulk(waiting, size.history)
  await enqueueBulk(finished, size.history)
  await consumeTens(finished, size.history, 10)
  const rounds: Round[] = []
  // The first round warms up and does not count.
  for (let round = 0; round <= size.rounds; round += 1) {
    const insert = raw.insert(size.batch)
    const enqueue = await enqueueSingles(fresh, size.batch)
    const enqueueWaiting = await enqueueSingles(waiting, size.batch)
    const enqueueFinished = await enqueueSingles(finished, size.batch)
    const claim = raw.claimAndDelete(size.batch)
    const complete = await consumeTens(fresh, size.batch, 10)
    const completeWaiting = await consumeTens(waiting, size.batch, 10)
    const completeFinished = await consumeTens(finished, size.batch, 10)
    const bulkInsert = raw.insert(size.batch, 1_000)
    const bulkEnqueue = await enqueueBulk(fresh, size.batch)
    raw.claimAndDelete(size.batch)
    await consumeTens(fresh, size.batch, 10)
    if (round === 0) continue
    rounds.push({
      ...{ insert, bulkInsert, claim, enqueue, bulkEnqueue, complete },
      ...{ enqueueWaiting, completeWaiting, enqueueFinished, completeFinished },
    })
  }
  raw.close()
  for (const backend of [fresh, waiting, finished]) await backend.close()
  const many = size.history.toLocaleString('en-US')
  return [
    ratioRow(
      rounds,
      'enqueue one by one, 100 in flight',
      ['enqueue', 'insert'],
      0.35,
      'raw insert',
    ),
    ratioRow(
      rounds,
      'enqueue 1,000 a call',
      ['bulkEnqueue', 'bulkInsert'],
      0.4,
      'raw, 1,000 a commit',
    ),
    ratioRow(
      rounds,
      'claim + complete of tens, ten consumers',
      ['complete', 'claim'],
      0.35,
      'raw claim + delete',
    ),
    ratioRow(
      rounds,
      `enqueue, ${many} waiting`,
      ['enqueueWaiting', 'enqueue'],
      0.9,
      'none waiting',
    ),
    ratioRow(
      rounds,
      `claim + complete, ${many} waiting`,
      ['completeWaiting', 'complete'],
      0.9,
      'none waiting',
    ),
    ratioRow(
      rounds,
      `enqueue, ${many} finished`,
      ['enqueueFinished', 'enqueue'],
      0.9,
      'none finished',
    ),
    ratioRow(
      rounds,
      `claim + complete, ${many} finished`,
      ['completeFinished', 'complete'],
      0.9,
      'none finished',
    ),
  ]
}

async function diskRow(folder: string, { batch }: Size): Promise<Row> {
  const file = join(folder, 'disk.db')
  const backend = await openJobs(file)
  await enqueueBulk(backend, batch)
  // Closing writes the log back into the file.
  await backend.close()
  const bytes = statSync(file).size / batch
  return {
    what: 'disk space of a waiting job of 200 bytes',
    measured: `${Math.round(bytes)} bytes`,
    bar: 'under 600 bytes',
    isMet: bytes < 600,
  }
}

async function openJobs(file: string): Promise<Backend> {
  const backend = await openSqlite({ file })
  await backend.createQueue({ queue })
  return backend
}

function storeOf({ jobs }: Backend): JobStore {
  if (jobs === null) throw new Error('The backend keeps no jobs.')
  return jobs
}

async function enqueueSingles(backend: Backend, count: number): Promise<number> {
  const store = storeOf(backend)
  let left = count
  const startedMs = performance.now()
  const producer = async (): Promise<void> => {
    while (left-- > 0) await store.enqueue({ queue, jobs: [job] })
  }
  await Promise.all(Array.from({ length: 100 }, producer))
  return perSecond(count, performance.now() - startedMs)
}

async function enqueueBulk(backend: Backend, count: number): Promise<number> {
  const store = storeOf(backend)
  const jobs = Array.from({ length: 1_000 }, () => job)
  const startedMs = performance.now()
  for (let done = 0; done < count; done += jobs.length) await store.enqueue({ queue, jobs })
  return perSecond(count, performance.now() - startedMs)
}
