/** Each step of a job alone, compared with the raw limit of the store, and with many waiting or finished jobs. */
import { join } from 'node:path'
import { inTurns } from '../load.ts'
import { RawStore } from '../raw-sqlite.ts'
import { type Row, ratioRow } from '../report.ts'
import { type BenchMill, enqueueBulk, openBench, processJobs, timed, timedEnqueue } from './app.ts'

export interface StepsSize {
  readonly rounds: number
  readonly batch: number
  readonly history: number
}

interface Round {
  readonly insert: number
  readonly bulkInsert: number
  readonly claim: number
  readonly enqueue: number
  readonly bulkEnqueue: number
  readonly process: number
  readonly enqueueWaiting: number
  readonly processWaiting: number
  readonly enqueueFinished: number
  readonly processFinished: number
}

export async function stepRows(folder: string, size: StepsSize): Promise<readonly Row[]> {
  const { rounds: count, batch, history } = size
  const raw = new RawStore(join(folder, 'raw.db'))
  const [fresh, waiting, finished] = await openAll(folder)
  await enqueueBulk(waiting, history)
  await enqueueBulk(finished, history)
  await processJobs(finished, history, 100)
  const rounds: Round[] = []
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= count; round += 1) {
    const insert = raw.insert(batch)
    // The first one runs before the disk's own maintenance, so the order alternates.
    const all = [fresh, waiting, finished]
    const enqueued = await inTurns(all, round, (mill) => timedEnqueue(mill, batch, 100))
    const [enqueue = 0, enqueueWaiting = 0, enqueueFinished = 0] = enqueued
    const claim = raw.claimAndDelete(batch)
    const processed = await inTurns(all, round, (mill) => processJobs(mill, batch, 100))
    const [processing = 0, processWaiting = 0, processFinished = 0] = processed
    const bulkInsert = raw.insert(batch, 1_000)
    const bulkEnqueue = await timed(batch, () => enqueueBulk(fresh, batch))
    raw.claimAndDelete(batch)
    await processJobs(fresh, batch, 100)
    if (round === 0) continue
    rounds.push({
      ...{ insert, bulkInsert, claim, enqueue, bulkEnqueue, process: processing },
      ...{ enqueueWaiting, processWaiting, enqueueFinished, processFinished },
    })
  }
  raw.close()
  for (const mill of [fresh, waiting, finished]) await mill.close()
  return rowsOf(rounds, history)
}

async function openAll(folder: string): Promise<[BenchMill, BenchMill, BenchMill]> {
  const open = (name: string): Promise<BenchMill> => openBench(join(folder, name))
  return [await open('fresh'), await open('waiting'), await open('finished')]
}

function rowsOf(rounds: readonly Round[], history: number): readonly Row[] {
  const many = history.toLocaleString('en-US')
  const row = (
    what: string,
    compared: readonly [keyof Round, keyof Round],
    bar: number,
    beside: string,
  ): Row => ratioRow(rounds, what, compared, bar, beside)
  const claim = 'raw claim + delete'
  return [
    row('enqueue one by one, 100 in flight', ['enqueue', 'insert'], 0.35, 'raw insert'),
    row('enqueue 1,000 a call', ['bulkEnqueue', 'bulkInsert'], 0.4, 'raw, 1,000 a commit'),
    row('claim + complete, 100 handlers at once', ['process', 'claim'], 0.35, claim),
    row(`enqueue, ${many} waiting`, ['enqueueWaiting', 'enqueue'], 0.9, 'none waiting'),
    row(`claim + complete, ${many} waiting`, ['processWaiting', 'process'], 0.9, 'none waiting'),
    row(`enqueue, ${many} finished`, ['enqueueFinished', 'enqueue'], 0.9, 'none finished'),
    row(`claim + complete, ${many} finished`, ['processFinished', 'process'], 0.9, 'none finished'),
  ]
}
