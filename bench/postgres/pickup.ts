/** How soon the worker of another process starts a job, on an idle system and under a steady load. */
import { formatMs, percentile, type Row } from '../report.ts'
import { type Comparison, measureRounds } from './comparison.ts'
import type { Call, Start, Steadily } from './contender.child.ts'
import type { Contender } from './contender.ts'

export interface PickupSize {
  readonly rounds: number
  /** Jobs of a measurement on an idle system. */
  readonly idle: number
  /** Jobs of a measurement under load. */
  readonly loaded: number
}

/** The milliseconds until the handlers started. */
interface Times {
  readonly fromCall: readonly number[]
  /** Negative if the handler started before the call returned. */
  readonly fromReturn: readonly number[]
}

interface Pickups {
  readonly idle: Times
  readonly loaded: Times
}

/** The worker settles each job and waits again before the next one is enqueued. */
const idlePerSecond = 20
const loadPerSecond = 500

export function pickupRows(
  comparison: Comparison,
  { rounds: count, idle, loaded }: PickupSize,
): Promise<readonly Row[]> {
  const options = { database: 'pickup', aim: 'latency', processes: 2 } as const
  return comparison.withLibraries(options, async (contenders) => {
    const rounds = await measureRounds(contenders, count, async (contender): Promise<Pickups> => {
      await contender.askWorker({ kind: 'startWorker', concurrency: 10 })
      // Opens the connections and prepares the statements.
      await pickups(contender, { count: 50, perSecond: loadPerSecond })
      const times = {
        idle: await pickups(contender, { count: idle, perSecond: idlePerSecond }),
        loaded: await pickups(contender, { count: loaded, perSecond: loadPerSecond }),
      }
      await contender.askWorker({ kind: 'stopWorker' })
      return times
    })
    const rowsOf = (what: string, load: keyof Pickups): readonly Row[] => {
      const times = contenders.map((_, index) => joined(rounds.map((all) => all[index]?.[load])))
      const row = (share: 0.5 | 0.99): Row =>
        latencyRow({ what: `${what}, p${share * 100}`, contenders, times, share })
      return [row(0.5), row(0.99)]
    }
    return [
      ...rowsOf('pickup by an idle worker in another process', 'idle'),
      ...rowsOf(`pickup at ${loadPerSecond} jobs/s`, 'loaded'),
    ]
  })
}

async function pickups(contender: Contender, load: Steadily): Promise<Times> {
  const calls = await contender.askProducer<readonly Call[]>({ kind: 'steadily', ...load })
  const starts = await contender.askWorker<readonly Start[]>({ kind: 'starts', count: load.count })
  // The last jobs are settled before the next measurement.
  await contender.askProducer({ kind: 'finish', unfinished: 0 })
  const startOf = new Map(starts.map(({ job, startedMs }) => [job, startedMs]))
  const msFrom = (since: 'calledMs' | 'returnedMs'): readonly number[] =>
    calls.map((call) => (startOf.get(call.job) ?? Number.NaN) - call[since])
  return { fromCall: msFrom('calledMs'), fromReturn: msFrom('returnedMs') }
}

function joined(all: readonly (Times | undefined)[]): Times {
  return {
    fromCall: all.flatMap((times) => times?.fromCall ?? []),
    fromReturn: all.flatMap((times) => times?.fromReturn ?? []),
  }
}

interface Latency {
  readonly what: string
  readonly contenders: readonly Contender[]
  readonly times: readonly Times[]
  readonly share: 0.5 | 0.99
}

/** The target concerns the median, and the first peer, graphile-worker. */
function latencyRow({ what, contenders, times, share }: Latency): Row {
  const [ours = '', ...theirs] = times.map(
    ({ fromCall, fromReturn }) =>
      `${formatMs(percentile(fromCall, share))} (${formatMs(percentile(fromReturn, share))})`,
  )
  const peers = contenders.slice(1).map(({ library }) => library)
  const [ourMs = Number.NaN, graphileMs = Number.NaN] = times.map(({ fromCall }) =>
    percentile(fromCall, share),
  )
  const hasTarget = share === 0.5 && peers[0] === 'graphile-worker'
  return {
    what,
    measured: ours,
    beside: peers.map((library, index) => `${library} ${theirs[index] ?? ''}`).join('; '),
    ...(hasTarget && { bar: 'at most that of graphile-worker', isMet: ourMs <= graphileMs }),
  }
}
