/**
 * The SQS endpoint compared with a bare `node:http` server that returns a fixed response, and with fauxqs in memory
 * and persistent. Each runs in a separate process, and the same client calls them in turn.
 */
import { join } from 'node:path'
import { queue as filledQueue, inScratchFolder } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import { formatRate, formatRatio, median, type Report, type Row } from '../report.ts'
import { parkedCost } from './parked.ts'
import {
  type BenchServer,
  fillStore,
  startBare,
  startFauxqsServer,
  startMillrace,
  writeFauxqsMessages,
} from './servers.ts'
import {
  type BenchQueue,
  consumeTens,
  createQueue,
  fillOverWire,
  sendSingles,
  sendTens,
  sendThroughSdk,
} from './steps.ts'

type Competitor = 'bare' | 'millrace' | 'inMemory' | 'persistent'
type Servers = Readonly<Record<Competitor, BenchServer>>
type Rates = Readonly<Record<Competitor, number>>

interface Size {
  readonly rounds: number
  readonly forMs: number
  /** Messages that are sent before they are received, for the rows about an empty queue. */
  readonly backlog: number
  /** The same for a server that fills slowly. */
  readonly slowBacklog: number
  readonly waiting: number
  readonly polls: number
  readonly parkedMs: number
}

const full: Size = {
  rounds: 3,
  forMs: 2_000,
  backlog: 100_000,
  slowBacklog: 5_000,
  waiting: 1_000_000,
  polls: 2_000,
  parkedMs: 40_000,
}
const quick: Size = {
  rounds: 1,
  forMs: 1_000,
  backlog: 5_000,
  slowBacklog: 500,
  waiting: 20_000,
  polls: 200,
  parkedMs: 5_000,
}

export async function benchSqs({ isQuick }: BenchOptions): Promise<Report> {
  const size = isQuick ? quick : full
  return inScratchFolder(async (folder) => ({
    title: 'The SQS wire',
    notes: [
      'Bodies of 200 bytes, AWS JSON over keep-alive connections, durable commits',
      `Medians of ${size.rounds} rounds in which the servers take turns; ratios are medians of the rounds' ratios`,
      'Bare: a node:http server that returns a fixed response of the same size',
      'fauxqs: in memory, and persistent with a data folder',
      "Connections use Node's HTTP client; bare sockets use a minimal client that costs almost no time",
      'fauxqs in memory writes nothing to disk; here every send is a durable commit',
      'So single sends are about equal; sends in tens are slower, because the sync takes most of their time',
      'Claiming or deleting ten messages costs about one HTTP request, client and server together (see engine)',
      'So two cores reach about half of the bare rate in tens; with a slower processor the share is higher',
      'Through the AWS SDK the client uses a whole core, and the bare rate itself varies by 10 % within a run',
      'So those rows are near their target, above or below it; a million waiting messages are not the cause',
    ],
    rows: [
      ...(await rowsOf(join(folder, 'empty'), size, 0)),
      ...(await rowsOf(join(folder, 'full'), size, size.waiting)),
      ...(await parkedRows(join(folder, 'parked'), size)),
    ],
  }))
}

interface Step {
  readonly what: string
  /** The target as a share of the bare server's rate. None if the row is only for comparison. */
  readonly bar?: number
  /** The client takes most of the time, so a comparison with other servers shows nothing. */
  readonly isClientBound?: true
  run(queue: BenchQueue, size: Size): Promise<number>
}

const steps: readonly Step[] = [
  {
    what: 'SendMessage, 64 connections',
    bar: 0.5,
    run: (queue, { forMs }) => sendSingles(queue, { connections: 64, forMs, by: 'http' }),
  },
  {
    what: 'SendMessage through the AWS SDK, 16 at once',
    bar: 0.9,
    isClientBound: true,
    run: (queue, { forMs }) => sendThroughSdk(queue, { connections: 16, forMs }),
  },
  {
    what: 'messages sent in tens, 16 connections',
    bar: 0.25,
    run: (queue, { forMs }) => sendTens(queue, { connections: 16, forMs, by: 'http' }),
  },
  {
    what: 'messages received and deleted in tens, 16 connections',
    bar: 0.6,
    run: (queue, size) => fillAndConsume(queue, size, 'http'),
  },
  {
    what: 'SendMessage, 64 bare sockets',
    run: (queue, { forMs }) => sendSingles(queue, { connections: 64, forMs, by: 'sockets' }),
  },
  {
    what: 'messages sent in tens, 16 bare sockets',
    run: (queue, { forMs }) => sendTens(queue, { connections: 16, forMs, by: 'sockets' }),
  },
  {
    what: 'messages received and deleted in tens, 16 bare sockets',
    run: (queue, size) => fillAndConsume(queue, size, 'sockets'),
  },
]

async function fillAndConsume(
  queue: BenchQueue,
  { forMs, backlog }: Size,
  by: 'http' | 'sockets',
): Promise<number> {
  await fillOverWire(queue, backlog)
  return consumeTens(queue, { connections: 16, forMs, by })
}

async function rowsOf(folder: string, size: Size, waiting: number): Promise<readonly Row[]> {
  const servers = await start(folder, waiting)
  const rounds: Rates[][] = steps.map(() => [])
  for (let round = 0; round <= size.rounds; round += 1) {
    for (const [index, step] of steps.entries()) {
      const rates = await measured(servers, step, { size, waiting, round })
      // The first one is a warm-up.
      if (round > 0) rounds[index]?.push(rates)
    }
  }
  for (const server of Object.values(servers)) await server.stop()
  const where = waiting === 0 ? '' : `, ${waiting.toLocaleString('en-US')} waiting`
  return steps.flatMap((step, index) =>
    rowsOfStep({ ...step, what: `${step.what}${where}` }, rounds[index] ?? []),
  )
}

async function start(folder: string, waiting: number): Promise<Servers> {
  const store = join(folder, 'millrace')
  const dataDir = join(folder, 'fauxqs')
  if (waiting > 0) {
    await fillStore(store, waiting)
    await fillFauxqs(dataDir, waiting)
  }
  const servers = {
    bare: await startBare(),
    millrace: await startMillrace(store),
    inMemory: await startFauxqsServer(),
    persistent: await startFauxqsServer(dataDir),
  }
  if (waiting > 0) {
    const queue = { server: servers.inMemory, name: filledQueue }
    await createQueue(queue)
    await fillOverWire(queue, waiting)
  }
  return servers
}

/** Sending them over HTTP would take most of an hour, so they are written to the store directly. */
async function fillFauxqs(dataDir: string, count: number): Promise<void> {
  const server = await startFauxqsServer(dataDir)
  await createQueue({ server, name: filledQueue })
  await server.stop()
  writeFauxqsMessages(dataDir, count)
}

interface Round {
  readonly size: Size
  readonly waiting: number
  readonly round: number
}

async function measured(
  servers: Servers,
  step: Step,
  { size, waiting, round }: Round,
): Promise<Rates> {
  const rates = { bare: 0, millrace: 0, inMemory: 0, persistent: 0 }
  const competitors = competitorsOf(step)
  const { length } = competitors
  // Rotate the order, so that no server always runs after the same other.
  const inTurn = [...competitors, ...competitors].slice(round % length, (round % length) + length)
  for (const competitor of inTurn) {
    const server = servers[competitor]
    const name = waiting === 0 ? `${steps.indexOf(step)}-${round}` : filledQueue
    const queue = { server, name }
    await createQueue(queue)
    rates[competitor] = await step.run(queue, {
      ...size,
      ...(competitor === 'persistent' && { backlog: size.slowBacklog }),
    })
  }
  return rates
}

function competitorsOf(step: Step): readonly Competitor[] {
  const all: readonly Competitor[] = ['bare', 'millrace', 'inMemory', 'persistent']
  return hasPeers(step) ? all : all.slice(0, 2)
}

function hasPeers({ bar, isClientBound }: Step): boolean {
  return bar !== undefined && !isClientBound
}

function rowsOfStep(step: Step, rounds: readonly Rates[]): readonly Row[] {
  const { what, bar } = step
  const measured = formatRate(median(rounds.map(({ millrace }) => millrace)))
  const beside = (name: string, competitor: Competitor, least: number | undefined): Row => {
    const ratio = median(rounds.map((rates) => rates.millrace / rates[competitor]))
    const rate = formatRate(median(rounds.map((rates) => rates[competitor])))
    const row = { what, measured, beside: `${name} ${rate}: ${formatRatio(ratio)}` }
    if (least === undefined) return row
    return { ...row, bar: `at least ${formatRatio(least)}`, isMet: ratio >= least }
  }
  if (!hasPeers(step)) return [beside('bare', 'bare', bar)]
  return [
    beside('bare', 'bare', bar),
    beside('fauxqs in memory', 'inMemory', 1),
    beside('fauxqs persistent', 'persistent', 4),
  ]
}

async function parkedRows(folder: string, { polls, parkedMs }: Size): Promise<readonly Row[]> {
  const server = await startMillrace(folder)
  const { coreShare, megabytes } = await parkedCost(server, { polls, forMs: parkedMs })
  await server.stop()
  const what = `${polls.toLocaleString('en-US')} waiting long polls`
  return [
    {
      what: `${what}: CPU`,
      measured: `${(coreShare * 100).toFixed(2)} % of a core`,
      bar: 'under 2 %',
      isMet: coreShare < 0.02,
    },
    {
      what: `${what}: memory`,
      measured: `${Math.round(megabytes)} MB`,
      bar: 'under 100 MB',
      isMet: megabytes < 100,
    },
  ]
}
