/** Enqueueing one by one and in bulk, compared with a bare insert and with plainjob. */
import { join } from 'node:path'
import { RawStore } from '../raw-sqlite.ts'
import { formatRate, median, type Row, ratioRow } from '../report.ts'
import { enqueueBulk, openBench, timed, timedEnqueue } from './app.ts'
import { Plainjob } from './plainjob.ts'

export interface EnqueueSize {
  readonly rounds: number
  readonly singles: number
  readonly bulk: number
}

type Rate = 'bare' | 'ours' | 'plainjob' | 'ten' | 'bareBulk' | 'oursBulk' | 'plainjobBulk'
type Rates = Record<Rate, number>

/** The same settings as the embedded store, so that both checkpoint equally often. */
const storeSettings = 'PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 2000;'

export async function enqueueRows(folder: string, size: EnqueueSize): Promise<readonly Row[]> {
  const { rounds: count, singles, bulk } = size
  const raw = new RawStore(join(folder, 'enqueue-raw.db'), storeSettings)
  const plainjob = await Plainjob.open(join(folder, 'plainjob.db'))
  const mill = await openBench(join(folder, 'enqueue'))
  const peer = 'skipped' in plainjob ? undefined : plainjob
  const measures: readonly (readonly [Rate, () => number | Promise<number>])[] = [
    ['bare', () => raw.insertSingles(singles)],
    ['ours', () => timedEnqueue(mill, singles, 1)],
    ['plainjob', () => peer?.enqueue(singles) ?? 0],
    ['ten', () => timedEnqueue(mill, singles * 10, 10)],
    ['bareBulk', () => raw.insert(bulk, 1_000)],
    ['oursBulk', () => timed(bulk, () => enqueueBulk(mill, bulk))],
    ['plainjobBulk', () => peer?.enqueueBulk(bulk) ?? 0],
  ]
  const rounds: Rates[] = []
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= count; round += 1) {
    const rates: Partial<Rates> = {}
    for (const [rate, measure] of round % 2 === 0 ? measures : measures.toReversed()) {
      rates[rate] = await measure()
    }
    if (round > 0) rounds.push(rates as Rates)
  }
  raw.close()
  peer?.close()
  await mill.close()
  return rowsOf(rounds, 'skipped' in plainjob ? plainjob.skipped : undefined)
}

function rowsOf(rounds: readonly Rates[], skipped: string | undefined): readonly Row[] {
  const rate = (of: Rate): string => formatRate(median(rounds.map((rates) => rates[of])))
  const besidePlainjob = (what: string, ours: Rate, theirs: Rate, bar?: number): Row =>
    skipped === undefined
      ? ratioRow(rounds, what, [ours, theirs], bar, 'plainjob')
      : { what, measured: rate(ours), beside: `plainjob skipped: ${skipped}` }
  const single = 'enqueue one by one, 1 in flight'
  const bulk = 'enqueue 1,000 a call'
  return [
    ratioRow(rounds, single, ['ours', 'bare'], 0.85, 'bare insert and sync'),
    besidePlainjob(single, 'ours', 'plainjob'),
    { what: 'enqueue one by one, 10 in flight', measured: rate('ten') },
    besidePlainjob(bulk, 'oursBulk', 'plainjobBulk', 1),
    ratioRow(rounds, bulk, ['oursBulk', 'bareBulk'], undefined, 'raw, 1,000 a commit'),
  ]
}
