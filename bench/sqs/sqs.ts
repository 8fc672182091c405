/**
 * The SQS wire beside a bare `node:http` server that answers a fixed reply, and beside fauxqs, in
 * memory and persistent: each in a process of its own, asked in turns by the same client.
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
  /** What is sent before it is received, in the rows about an empty queue. */
  readonly backlog: number
  readonly waiting: number
  readonly polls: number
  readonly parkedMs: number
}

const full: Size = {
  rounds: 5,
  forMs: 3_000,
  backlog: 40_000,
  waiting: 1_000_000,
  polls: 2_000,
  parkedMs: 40_000,
}
const quick: Size = {
  rounds: 1,
  forMs: 1_000,
  backlog: 5_000,
  waiting: 20_000,
  polls: 200,
  parkedMs: 5_000,
}

export async function benchSqs({ isQuick }: BenchOptions): Promise<Report> {
  const size = isQuick ? quick : full
  return inScratchFolder(async (folder) => ({
    title: 'The SQS wire',
    notes: [
      'Bodies of 200 bytes, AWS JSON over connections that stay open, durable commits',
      `Medians of ${size.rounds} rounds in which the servers take turns; ratios are medians of the rounds' ratios`,
      'Bare: a node:http server that answers a fixed reply of the same size; fauxqs: in memory and with a data folder',
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
  /** Of the bare server's rate. */
  readonly bar: number
  run(queue: BenchQueue, size: Size): Promise<number>
}

const steps: readonly Step[] = [
  {
    what: 'SendMessage, 64 connections',
    bar: 0.5,
    run: (queue, { forMs }) => sendSingles(queue, { connections: 64, forMs }),
  },
  {
    what: 'SendMessage through the AWS SDK, 16 at once',
    bar: 0.9,
    run: (queue, { forMs }) => sendThroughSdk(queue, { connections: 16, forMs }),
  },
  {
    what: 'messages sent in tens, 16 connections',
    bar: 0.25,
    run: (queue, { forMs }) => sendTens(queue, { connections: 16, forMs }),
  },
  {
    what: 'messages received and deleted in tens, 16 connections',
    bar: 0.6,
    run: async (queue, { forMs, backlog }) => {
      await fillOverWire(queue, backlog)
      return consumeTens(queue, { connections: 16, forMs })
    },
  },
]

async function rowsOf(folder: string, size: Size, waiting: number): Promise<readonly Row[]> {
  const servers = await start(folder, waiting)
  const rounds: Rates[][] = steps.map(() => [])
  for (let round = 0; round <= size.rounds; round += 1) {
    for (const [index, step] of steps.entries()) {
      const rates = await measured(servers, step, { size, waiting, round })
      // The first one only warms up.
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
  if (waiting > 0) await fillStore(store, waiting)
  const servers = {
    bare: await startBare(),
    millrace: await startMillrace(store),
    inMemory: await startFauxqsServer(),
    persistent: await startFauxqsServer(join(folder, 'fauxqs')),
  }
  if (waiting === 0) return servers
  for (const server of [servers.inMemory, servers.persistent]) {
    const queue = { server, name: filledQueue }
    await createQueue(queue)
    await fillOverWire(queue, waiting)
  }
  return servers
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
  const competitors = Object.keys(rates) as Competitor[] // keys of the literal above
  // Nobody is always the one who comes after the same other.
  const inTurn = [...competitors, ...competitors].slice(round % 4, (round % 4) + 4)
  for (const competitor of inTurn) {
    const server = servers[competitor]
    const name = waiting === 0 ? `${steps.indexOf(step)}-${round}` : filledQueue
    const queue = { server, name }
    await createQueue(queue)
    rates[competitor] = await step.run(queue, size)
  }
  return rates
}

function rowsOfStep({ what, bar }: Step, rounds: readonly Rates[]): readonly Row[] {
  const ours = formatRate(median(rounds.map(({ millrace }) => millrace)))
  const beside = (name: string, competitor: Competitor, least: number): Row => {
    const ratio = median(rounds.map((rates) => rates.millrace / rates[competitor]))
    const rate = formatRate(median(rounds.map((rates) => rates[competitor])))
    return {
      what,
      measured: ours,
      beside: `${name} ${rate}: ${formatRatio(ratio)}`,
      bar: `at least ${formatRatio(least)}`,
      isMet: ratio >= least,
    }
  }
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
  const what = `${polls.toLocaleString('en-US')} long polls that wait`
  return [
    {
      what: `${what}: processor`,
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
