/** Each step of a job's life alone, beside the raw limit of the store, and with a long past or queue. */
import { join } from 'node:path'
import { RawStore } from '../raw-sqlite.ts'
import { formatRate, median, perSecond, type Row, ratioRow } from '../report.ts'
import { type BenchMill, enqueueBulk, enqueueSingles, openBench, untilCompleted } from './app.ts'

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
  const few: { enqueue: number[]; process: number[] }[] = []
  // The first round warms up and does not count.
  for (let round = 0; round <= count; round += 1) {
    const insert = raw.insert(batch)
    // Whoever comes first is ahead of the disk's own upkeep, so they take turns in that too.
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
    const steps = await fewAtOnce(fresh, batch)
    if (round === 0) continue
    few.push(steps)
    rounds.push({
      ...{ insert, bulkInsert, claim, enqueue, bulkEnqueue, process: processing },
      ...{ enqueueWaiting, processWaiting, enqueueFinished, processFinished },
    })
  }
  raw.close()
  for (const mill of [fresh, waiting, finished]) await mill.close()
  return [...rowsOf(rounds, history), ...fewRows(few)]
}

/** One after the other, beginning with another one each time; answers in the order of the stores. */
async function inTurns(
  mills: readonly BenchMill[],
  round: number,
  run: (mill: BenchMill) => Promise<number>,
): Promise<readonly number[]> {
  const rates: number[] = []
  for (let turn = 0; turn < mills.length; turn += 1) {
    const index = (round + turn) % mills.length
    const mill = mills[index]
    if (mill !== undefined) rates[index] = await run(mill)
  }
  return rates
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

/** One and ten at once: there is little for a commit to share, so the disk decides. */
async function fewAtOnce(
  mill: BenchMill,
  batch: number,
): Promise<{ enqueue: number[]; process: number[] }> {
  const enqueue: number[] = []
  const processed: number[] = []
  for (const inFlight of [1, 10]) {
    const count = (batch * inFlight) / 100
    enqueue.push(await timedEnqueue(mill, count, inFlight))
    processed.push(await processJobs(mill, count, inFlight))
  }
  return { enqueue, process: processed }
}

function fewRows(rounds: readonly { enqueue: number[]; process: number[] }[]): readonly Row[] {
  const rate = (step: 'enqueue' | 'process', index: number): string =>
    formatRate(median(rounds.map((round) => round[step][index] ?? Number.NaN)))
  return [
    { what: 'enqueue one by one, 1 in flight', measured: rate('enqueue', 0) },
    { what: 'enqueue one by one, 10 in flight', measured: rate('enqueue', 1) },
    { what: 'claim + complete, 1 handler at once', measured: rate('process', 0) },
    { what: 'claim + complete, 10 handlers at once', measured: rate('process', 1) },
  ]
}

function timedEnqueue(mill: BenchMill, count: number, inFlight: number): Promise<number> {
  return timed(count, () => enqueueSingles(mill, count, inFlight))
}

/** A worker that starts with a full queue and stops after so many jobs; jobs a second. */
async function processJobs(mill: BenchMill, count: number, concurrency: number): Promise<number> {
  const before = (await mill.queues.bench.statistics()).totals.acknowledged
  const handle = { OCR: () => undefined }
  const worker = mill.worker({ poll: ['bench'], concurrency, handle })
  const startedMs = performance.now()
  worker.start()
  const done = await untilCompleted(mill, before + count)
  const rate = perSecond(done - before, performance.now() - startedMs)
  await worker.stop()
  return rate
}

async function timed(count: number, run: () => Promise<void>): Promise<number> {
  const startedMs = performance.now()
  await run()
  return perSecond(count, performance.now() - startedMs)
}
