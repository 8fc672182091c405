/** Enqueueing and running jobs in databases that have many waiting or finished jobs, compared with an empty one. */
import { type Row, ratioRow } from '../report.ts'
import { type Comparison, measureRounds } from './comparison.ts'
import type { Counts } from './contender.child.ts'
import type { Contender } from './contender.ts'
import { finishJobs } from './finished-jobs.ts'
import { warmEnqueue } from './warm-enqueue.ts'

export interface BacklogSize {
  readonly rounds: number
  /** A measurement ends after this many jobs or milliseconds. */
  readonly jobs: number
  readonly ms: number
  /** Waiting or finished jobs. */
  readonly history: number
}

const databases = ['empty', 'waiting', 'finished'] as const
type Database = (typeof databases)[number]
type Step = 'enqueue' | 'process'
type Round = Record<`${Step} ${Database}`, number>

const inFlight = 100

export function backlogRows(comparison: Comparison, size: BacklogSize): Promise<readonly Row[]> {
  const { rounds: count, jobs, ms, history } = size
  const options = databases.map((database) => ({
    library: 'millrace' as const,
    database: `backlog_${database}`,
  }))
  return comparison.withContenders(options, async (contenders) => {
    await prepare(contenders, history)
    const measured = await measureRounds(contenders, count, async (contender) => {
      const before = await unfinished(contender)
      const enqueued = await warmEnqueue(contender, { jobs, ms, inFlight, perCall: 1 })
      await contender.vacuum()
      // The last jobs of a queue are claimed in smaller portions, which a backlog does not have. So they do not count.
      const counted = Math.ceil(enqueued.count * 0.75)
      const rate = await processSome(contender, counted, 10 * ms)
      // The database becomes as full or as empty as it was.
      const left = (await unfinished(contender)) - before
      if (left > 0) await processSome(contender, left, 10 * ms)
      return { enqueue: enqueued.rate, process: rate }
    })
    return rowsOf(measured.map(roundOf), history)
  })
}

function processSome(contender: Contender, jobs: number, ms: number): Promise<number> {
  return contender.askWorker<number>({ kind: 'process', jobs, ms, concurrency: inFlight })
}

async function unfinished(contender: Contender): Promise<number> {
  return (await contender.askProducer<Counts>({ kind: 'counts' })).unfinished
}

async function prepare(contenders: readonly Contender[], history: number): Promise<void> {
  const [, waiting, finished] = contenders
  await waiting?.whileOpen(() => fillWaiting(waiting, history))
  await finished?.whileOpen(() => finishJobs(finished, history))
  for (const contender of contenders) await contender.vacuum()
}

/** In slices that are few enough for one request. */
async function fillWaiting(contender: Contender, count: number): Promise<void> {
  for (let waiting = 0; waiting < count; ) {
    waiting = Math.min(count, waiting + 100_000)
    await contender.askProducer({ kind: 'fill', waiting })
  }
}

function roundOf(results: readonly Record<Step, number>[]): Round {
  const rates = databases.flatMap((database, index) =>
    (['enqueue', 'process'] as const).map(
      (step) => [`${step} ${database}`, results[index]?.[step]] as const,
    ),
  )
  return Object.fromEntries(rates) as Round
}

function rowsOf(rounds: readonly Round[], history: number): readonly Row[] {
  const row = (step: Step, database: 'waiting' | 'finished'): Row => {
    const does = step === 'enqueue' ? 'enqueue one by one' : 'worker with 100 handlers at once'
    const what = `${does}, ${history.toLocaleString('en-US')} ${database}`
    const compared = [`${step} ${database}`, `${step} empty`] as const
    return ratioRow(rounds, what, compared, 0.8, `none ${database}`)
  }
  return [
    row('enqueue', 'waiting'),
    row('process', 'waiting'),
    row('enqueue', 'finished'),
    row('process', 'finished'),
  ]
}
