/** A store with a million schedules that were set at run time, compared with a store that has none. */
import { join } from 'node:path'
import {
  type BenchMill,
  openBench,
  payload,
  processJobs,
  timed,
  timedEnqueue,
} from '../jobs/app.ts'
import { inScratchFolder, inTurns } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import { formatRate, perSecond, type Report, type Row, ratioRow } from '../report.ts'

interface Size {
  readonly rounds: number
  /** Schedules in the full store. */
  readonly schedules: number
  /** Jobs per round. */
  readonly jobs: number
  /** Schedules per round whose tick is due at the same second. */
  readonly due: number
  /** Pages of 100 schedules per round. */
  readonly pages: number
}

const full: Size = { rounds: 9, schedules: 1_000_000, jobs: 40_000, due: 5_000, pages: 2_000 }
const quick: Size = { rounds: 2, schedules: 20_000, jobs: 5_000, due: 1_000, pages: 200 }

const listed = 1_000

const job = { queue: 'bench', type: 'OCR', owner: 'user-1' } as const

export async function benchSchedules({ isQuick }: BenchOptions): Promise<Report> {
  const size = isQuick ? quick : full
  return {
    title: 'Schedules that are set at run time',
    notes: [
      `A store with ${size.schedules.toLocaleString('en-US')} schedules beside one without, in turns; medians of ${size.rounds} rounds`,
      'Payloads of 200 bytes, validated by a schema; durable commits',
      `Ticks: ${size.due.toLocaleString('en-US')} schedules that are due in the same second, until all jobs are stored`,
      `Lists: pages of 100, by a prefix that ${listed.toLocaleString('en-US')} schedules have in both stores`,
    ],
    rows: await inScratchFolder((folder) => rowsIn(folder, size)),
  }
}

interface Round {
  readonly enqueue: number
  readonly enqueueFull: number
  readonly process: number
  readonly processFull: number
  readonly tick: number
  readonly tickFull: number
  readonly list: number
  readonly listFull: number
}

async function rowsIn(folder: string, size: Size): Promise<readonly Row[]> {
  const empty = await openBench(join(folder, 'empty'))
  const many = await openBench(join(folder, 'many'))
  for (const mill of [empty, many]) await setIdle(mill, 'listed', listed)
  const created = await setIdle(many, 'idle', size.schedules)
  const rounds: Round[] = []
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= size.rounds; round += 1) {
    const measured = await roundOf([empty, many], round, size)
    if (round > 0) rounds.push(measured)
  }
  for (const mill of [empty, many]) await mill.close()
  return rowsOf(rounds, { created, schedules: size.schedules })
}

/** Schedules that do not tick while the benchmark runs; returns how many a second. */
async function setIdle(mill: BenchMill, name: string, count: number): Promise<number> {
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1
  const schedules = Array.from({ length: 1_000 }, (_, index) => ({
    cron: `${index % 10} ${Math.floor(index / 10) % 10} ${Math.floor(index / 100) + 1} ${month} *`,
    ...{ job, payload },
  }))
  return timed(count, async () => {
    for (let done = 0; done < count; done += schedules.length) {
      await mill.schedules.setMany(
        schedules.map((one, index) => ({ ...one, name: `${name}/${done + index}` })),
      )
    }
  })
}

async function roundOf(mills: readonly BenchMill[], round: number, size: Size): Promise<Round> {
  const { jobs, due, pages } = size
  const [enqueue = 0, enqueueFull = 0] = await inTurns(mills, round, (mill) =>
    timedEnqueue(mill, jobs, 100),
  )
  const [processing = 0, processFull = 0] = await inTurns(mills, round, (mill) =>
    processJobs(mill, jobs, 100),
  )
  const [tick = 0, tickFull = 0] = await inTurns(mills, round, (mill) => ticks(mill, due))
  for (const mill of mills) await processJobs(mill, due, 100)
  const [list = 0, listFull = 0] = await inTurns(mills, round, (mill) => lists(mill, pages))
  return {
    ...{ enqueue, enqueueFull, process: processing, processFull },
    ...{ tick, tickFull, list, listFull },
  }
}

/** Sets schedules with one tick each, all at the same second; returns ticks a second. */
async function ticks(mill: BenchMill, count: number): Promise<number> {
  const before = (await mill.queues.bench.statistics()).totals.sent
  const at = new Date(Math.ceil(Date.now() / 1_000 + count / 2_500 + 1) * 1_000)
  const cron = `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
  for (let done = 0; done < count; done += 1_000) {
    const schedules = Array.from({ length: 1_000 }, (_, index) => ({
      ...{ name: `due/${done + index}`, cron, until: at, job, payload },
    }))
    await mill.schedules.setMany(schedules)
  }
  if (Date.now() >= at.getTime()) throw new Error('The schedules were not set in time.')
  await new Promise((resolve) => setTimeout(resolve, at.getTime() - Date.now()))
  const startedMs = performance.now()
  for (;;) {
    const { sent } = (await mill.queues.bench.statistics()).totals
    if (sent >= before + count) return perSecond(count, performance.now() - startedMs)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Reads pages of 100; returns schedules a second. */
async function lists(mill: BenchMill, pages: number): Promise<number> {
  return timed(pages * 100, async () => {
    let after: string | undefined
    for (let page = 0; page < pages; page += 1) {
      const { next } = await mill.schedules.list({
        ...{ prefix: 'listed/', limit: 100 },
        ...(after !== undefined && { after }),
      })
      after = next
    }
  })
}

interface Filled {
  readonly created: number
  readonly schedules: number
}

function rowsOf(rounds: readonly Round[], { created, schedules }: Filled): readonly Row[] {
  const many = `${schedules.toLocaleString('en-US')} schedules`
  const row = (what: string, compared: readonly [keyof Round, keyof Round]): Row =>
    ratioRow(rounds, `${what}, ${many}`, compared, 0.9, 'none')
  return [
    row('enqueue one by one, 100 in flight', ['enqueueFull', 'enqueue']),
    row('claim + complete, 100 handlers at once', ['processFull', 'process']),
    row('tick', ['tickFull', 'tick']),
    row('list', ['listFull', 'list']),
    { what: 'set 1,000 a call', measured: formatRate(created) },
  ]
}
