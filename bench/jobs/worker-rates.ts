/**
 * A worker on a full queue with 1, 10 and 100 parallel handlers, compared with graphile-worker, and with a
 * handler of batches.
 */
import { join } from 'node:path'
import { BenchChild } from '../child-process.ts'
import { loadPeer, type Skipped } from '../peers.ts'
import { Contender } from '../postgres/contender.ts'
import { type Postgres, startPostgres } from '../postgres/start-postgres.ts'
import { formatRate, median, type Row, ratioRow } from '../report.ts'
import type { WorkerRequest } from './worker.child.ts'

export interface WorkerRatesSize {
  readonly rounds: number
  /** Jobs per measurement, in thousands, because 1,000 are enqueued per call. */
  readonly batch: number
}

const concurrencies = [1, 10, 100] as const
type Concurrency = (typeof concurrencies)[number]
type Rates = Record<`ours${Concurrency}` | `graphile${Concurrency}` | 'batches', number>

const batchSize = 100

export async function workerRateRows(
  folder: string,
  { rounds: count, batch }: WorkerRatesSize,
): Promise<readonly Row[]> {
  const data = join(folder, 'worker')
  const ours = new BenchChild<WorkerRequest>(new URL('./worker.child.ts', import.meta.url))
  const peer = await startGraphile()
  const rounds: Rates[] = []
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= count; round += 1) {
    const rates: Rates = {
      ...{ ours1: 0, ours10: 0, ours100: 0 },
      ...{ graphile1: 0, graphile10: 0, graphile100: 0, batches: 0 },
    }
    for (let turn = 0; turn < concurrencies.length; turn += 1) {
      const concurrency = concurrencies[(round + turn) % concurrencies.length] ?? 1
      const request = { kind: 'process', count: batch, concurrency } as const
      const measureOurs = async (): Promise<void> => {
        rates[`ours${concurrency}`] = await ours.ask<number>({ ...request, data })
      }
      const measureTheirs = async (): Promise<void> => {
        if ('skipped' in peer) return
        rates[`graphile${concurrency}`] = await graphileRate(peer.contender, batch, concurrency)
      }
      const inTurn = [measureOurs, measureTheirs]
      for (const measure of round % 2 === 0 ? inTurn : inTurn.toReversed()) await measure()
    }
    const inBatches = { kind: 'process', count: batch, concurrency: 10, batchSize } as const
    rates.batches = await ours.ask<number>({ ...inBatches, data })
    if (round > 0) rounds.push(rates)
  }
  await ours.end()
  if (!('skipped' in peer)) {
    await peer.contender.end()
    await peer.postgres.stop()
  }
  return rowsOf(rounds, 'skipped' in peer ? peer.skipped : undefined)
}

function rowsOf(rounds: readonly Rates[], skipped: string | undefined): readonly Row[] {
  const rows = ([1, 10] as const).map((concurrency) =>
    ratioRow(rounds, whatOf(concurrency), [`ours${concurrency}`, 'ours100'], 0.9, 'with 100'),
  )
  const peerRows = concurrencies.map((concurrency) => {
    const compared = [`ours${concurrency}`, `graphile${concurrency}`] as const
    const what = whatOf(concurrency)
    if (skipped !== undefined) {
      const measured = formatRate(median(rounds.map((rates) => rates[`ours${concurrency}`])))
      return { what, measured, beside: `graphile-worker skipped: ${skipped}` }
    }
    return ratioRow(rounds, what, compared, concurrency === 100 ? 1 : undefined, 'graphile-worker')
  })
  const batches = `worker with 10 handlers at once, in batches of ${batchSize}`
  const batchRow = ratioRow(rounds, batches, ['batches', 'ours10'], 1, 'single jobs')
  return [...rows, batchRow, ...peerRows]
}

function whatOf(concurrency: Concurrency): string {
  return `worker with ${concurrency} ${concurrency === 1 ? 'handler' : 'handlers'} at once, full queue`
}

interface Graphile {
  readonly postgres: Postgres
  readonly contender: Contender
}

async function startGraphile(): Promise<Graphile | Skipped> {
  const library = 'graphile-worker'
  const peer = await loadPeer(library, () => import('graphile-worker'))
  if ('skipped' in peer) return peer
  const postgres = await startPostgres()
  if ('skipped' in postgres) return postgres
  return { postgres, contender: await Contender.start(postgres, { library, database: 'jobs' }) }
}

/** After a vacuum, so that autovacuum does not run during the measurement. */
function graphileRate(
  contender: Contender,
  jobs: number,
  concurrency: Concurrency,
): Promise<number> {
  return contender.whileOpen(async () => {
    await contender.askWorker({ kind: 'fill', waiting: jobs })
    await contender.vacuum()
    const request = { kind: 'process', jobs, ms: 60_000, concurrency } as const
    return contender.askWorker<number>(request)
  })
}
