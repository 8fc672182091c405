/** The engine compared with the raw limit of its store: small and large backlogs, and latencies. */
import { join } from 'node:path'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { BenchChild } from '../child-process.ts'
import { consumeTens, fill, inScratchFolder, queue, sendSingles } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import { RawStore } from '../raw-sqlite.ts'
import { formatMs, median, percentile, type Report, type Row, ratioRow } from '../report.ts'
import type { ChildRequest } from './child.ts'

export async function benchEngine({ isQuick }: BenchOptions): Promise<Report> {
  const size: Size = isQuick
    ? { rounds: 2, batch: 5_000, backlog: 20_000, samples: 50, idleMs: 2_000 }
    : { rounds: 11, batch: 20_000, backlog: 1_000_000, samples: 400, idleMs: 10_000 }
  return inScratchFolder(async (folder) => {
    const rows = [
      ...(await throughput(folder, size)),
      ...(await wakeUps(folder, size)),
      await idleCost(folder, size),
    ]
    return {
      title: 'The embedded engine',
      notes: [
        `Messages of 200 bytes; medians of ${size.rounds} rounds in which all contenders take turns`,
        'Raw: bare node:sqlite statements on a table with one index, 100 rows a commit',
        'A raw insert checks nothing; a send checks the message, counts it and settles its own promise',
        'So single sends are close to their target, between 58 and 64 % from run to run',
      ],
      rows,
    }
  })
}

interface Size {
  readonly rounds: number
  readonly batch: number
  readonly backlog: number
  readonly samples: number
  readonly idleMs: number
}

interface Round {
  readonly insert: number
  readonly claim: number
  readonly send: number
  readonly consume: number
  readonly sendBehind: number
  readonly consumeBehind: number
}

async function throughput(folder: string, size: Size): Promise<readonly Row[]> {
  const raw = new RawStore(join(folder, 'raw.db'))
  const small = await openBench(join(folder, 'small.db'), 1_000)
  const largeFile = join(folder, 'large.db')
  const large = await openBench(largeFile, size.backlog)
  const rounds: Round[] = []
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= size.rounds; round += 1) {
    const insert = raw.insert(size.batch)
    const [send, sendBehind] = await inTurn(round, small, large, (backend) =>
      sendSingles(backend, size.batch, 100),
    )
    const claim = raw.claimAndDelete(size.batch)
    const [consume, consumeBehind] = await inTurn(round, small, large, (backend) =>
      consumeTens(backend, size.batch, 10),
    )
    if (round > 0) rounds.push({ insert, claim, send, consume, sendBehind, consumeBehind })
  }
  const statisticsMs = await timeStatistics(large, size.samples)
  raw.close()
  await small.close()
  await large.close()
  return [
    ...rateRows(rounds, size.backlog),
    {
      what: `reading queue statistics, ${size.backlog.toLocaleString('en-US')} waiting, p99`,
      measured: formatMs(statisticsMs),
      bar: 'under 1 ms',
      isMet: statisticsMs < 1,
    },
    await residentRow(largeFile, size),
  ]
}

/** The second contender finds the disk busy with the work of the first, so they take turns. */
async function inTurn(
  round: number,
  small: Backend,
  large: Backend,
  measure: (backend: Backend) => Promise<number>,
): Promise<readonly [number, number]> {
  if (round % 2 === 0) {
    const first = await measure(small)
    return [first, await measure(large)]
  }
  const first = await measure(large)
  return [await measure(small), first]
}

function rateRows(rounds: readonly Round[], backlog: number): readonly Row[] {
  const behind = `${backlog.toLocaleString('en-US')} waiting`
  return [
    ratioRow(rounds, 'single sends, 100 in flight', ['send', 'insert'], 0.6, 'raw insert'),
    ratioRow(
      rounds,
      'receive + delete of tens, ten consumers',
      ['consume', 'claim'],
      0.6,
      'raw claim + delete',
    ),
    ratioRow(rounds, `single sends, ${behind}`, ['sendBehind', 'send'], 0.9, '1,000 waiting'),
    ratioRow(
      rounds,
      `receive + delete, ${behind}`,
      ['consumeBehind', 'consume'],
      0.9,
      '1,000 waiting',
    ),
  ]
}

async function timeStatistics(backend: Backend, samples: number): Promise<number> {
  const times: number[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    const startedMs = performance.now()
    await backend.queueStatistics({ queue })
    times.push(performance.now() - startedMs)
  }
  return percentile(times, 0.99)
}

/** In a separate process, so that only its memory counts. */
async function residentRow(file: string, size: Size): Promise<Row> {
  const child = startChild()
  const megabytes = await child.ask<number>({ kind: 'resident', file, count: size.batch })
  await child.end()
  return {
    what: `resident memory after sending and consuming, ${size.backlog.toLocaleString('en-US')} waiting`,
    measured: `${Math.round(megabytes)} MB`,
    bar: 'under 250 MB',
    isMet: megabytes < 250,
  }
}

async function wakeUps(folder: string, { samples }: Size): Promise<readonly Row[]> {
  const file = join(folder, 'wake.db')
  const backend = await openBench(file, 0)
  const near: number[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    const parked = backend.receive({ queue, max: 1, waitMs: 20_000 })
    await parkedMoment()
    const startedMs = performance.now()
    await backend.send({ queue, messages: [{ body: 'wake' }] })
    const [delivery] = await parked
    near.push(performance.now() - startedMs)
    if (delivery === undefined) throw new Error('A waiting receive was not woken.')
    await acknowledge(backend, delivery.receipt)
  }
  const child = startChild()
  const far: number[] = []
  await child.ask({ kind: 'open', file })
  for (let sample = 0; sample < samples; sample += 1) {
    const woken = child.ask<number>({ kind: 'wait' })
    await child.ask({ kind: 'parked' })
    const startedMs = performance.timeOrigin + performance.now()
    await backend.send({ queue, messages: [{ body: 'wake' }] })
    far.push((await woken) - startedMs)
  }
  await child.end()
  await backend.close()
  return [
    latencyRow('wake-up of a waiting receive, same process', near, 5),
    latencyRow('wake-up of a waiting receive, another process', far, 30),
  ]
}

/** Lets a receive that just started find nothing and wait. */
async function parkedMoment(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

async function acknowledge(backend: Backend, receipt: string): Promise<void> {
  await backend.settle({ queue, settlements: [{ receipt, outcome: { kind: 'acknowledge' } }] })
}

function latencyRow(what: string, times: readonly number[], barMs: number): Row {
  const p99 = percentile(times, 0.99)
  return {
    what: `${what}, p99`,
    measured: `${formatMs(p99)} (p50 ${formatMs(median(times))})`,
    bar: `under ${barMs} ms`,
    isMet: p99 < barMs,
  }
}

async function idleCost(folder: string, { idleMs }: Size): Promise<Row> {
  const child = startChild()
  await child.ask({ kind: 'open', file: join(folder, 'wake.db') })
  const share = await child.ask<number>({ kind: 'idle', polls: 10, forMs: idleMs })
  await child.end()
  return {
    what: 'an idle process with ten waiting receives',
    measured: `${(share * 100).toFixed(2)} % of a core`,
    bar: 'under 1 %',
    isMet: share < 0.01,
  }
}

function startChild(): BenchChild<ChildRequest> {
  return new BenchChild(new URL('./child.ts', import.meta.url))
}

async function openBench(file: string, backlog: number): Promise<Backend> {
  const backend = await openSqlite({ file })
  await backend.createQueue({ queue })
  await fill(backend, backlog)
  return backend
}
