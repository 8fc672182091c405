/** Fan-out and fan-in: the cost of opening, whether a mark depends on the number of units, and memory. */
import { join } from 'node:path'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { BenchChild } from '../child-process.ts'
import { inScratchFolder } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import { formatMs, formatRatio, median, percentile, type Report, type Row } from '../report.ts'
import { fanOut, flowName, flowsOf, markAll, unitsPerCall } from './fan-out.ts'
import type { FlowsRequest } from './flows.child.ts'

const small = 100
/** Marks per measurement. The small and the large flow take turns. */
const marksPerRound = 90

interface Size {
  readonly large: number
  readonly rounds: number
}

export async function benchFlows({ isQuick }: BenchOptions): Promise<Report> {
  const size: Size = isQuick ? { large: 20_000, rounds: 40 } : { large: 100_000, rounds: 400 }
  return inScratchFolder(async (folder) => {
    const backend = await openSqlite({ file: join(folder, 'flows.db') })
    for (const queue of ['small', 'large']) await backend.createQueue({ queue })
    const rows = [
      await openingRow(backend, size),
      await markRow(backend, size),
      await readingRow(backend, size),
      await cancellingRow(backend),
    ]
    await backend.close()
    return {
      title: 'Fan-out and fan-in',
      notes: [
        `Units of 200 bytes, ${unitsPerCall.toLocaleString('en-US')} per call, one call after the other`,
        `Marks are acknowledgements, ${marksPerRound} per call, including the commit; both flows share a store and take turns`,
      ],
      rows: [...rows, await residentRow(folder, size)],
    }
  })
}

async function openingRow(backend: Backend, { large }: Size): Promise<Row> {
  const elapsedMs = await fanOut(backend, 'large', 'large', large)
  return {
    what: `opening ${count(large)} units`,
    measured: `${(elapsedMs / 1_000).toFixed(2)} s`,
    bar: 'under 10 s',
    isMet: elapsedMs < 10_000,
  }
}

async function markRow(backend: Backend, { large, rounds }: Size): Promise<Row> {
  const times: { readonly few: number; readonly many: number }[] = []
  // The first rounds are a warm-up and do not count.
  const warmUp = Math.ceil(rounds / 10)
  for (let round = -warmUp; round < rounds; round += 1) {
    await fanOut(backend, 'small', `small ${round}`, small)
    const few = (): Promise<number> => markSome(backend, 'small')
    const many = (): Promise<number> => markSome(backend, 'large')
    const isEven = round % 2 === 0
    const first = isEven ? await few() : await many()
    const second = isEven ? await many() : await few()
    await drain(backend, 'small')
    if (round < 0) continue
    times.push(isEven ? { few: first, many: second } : { few: second, many: first })
  }
  const ratio = median(times.map(({ few, many }) => many / few))
  return {
    what: `a mark in a flow of ${count(large)} units`,
    measured: formatMicros(median(times.map(({ many }) => many))),
    beside: `of ${small} units ${formatMicros(median(times.map(({ few }) => few)))}: ${formatRatio(ratio)}`,
    bar: 'at most 120 %',
    isMet: ratio <= 1.2,
  }
}

async function markSome(backend: Backend, queue: string): Promise<number> {
  const deliveries = await backend.receive({ queue, max: marksPerRound, visibilityMs: 3_600_000 })
  if (deliveries.length < marksPerRound) throw new Error('The benchmark ran out of units.')
  return markAll(backend, queue, deliveries)
}

async function drain(backend: Backend, queue: string): Promise<void> {
  const rest = await backend.receive({ queue, max: small })
  await markAll(backend, queue, rest)
}

async function readingRow(backend: Backend, { large, rounds }: Size): Promise<Row> {
  const times: number[] = []
  for (let sample = 0; sample < rounds; sample += 1) {
    const startedMs = performance.now()
    await flowsOf(backend).read({ flow: flowName, id: 'large' })
    times.push(performance.now() - startedMs)
  }
  const p99 = percentile(times, 0.99)
  return {
    what: `reading the progress of ${count(large)} units, p99`,
    measured: formatMs(p99),
    bar: 'under 1 ms',
    isMet: p99 < 1,
  }
}

/** Cancelling removes messages during maintenance, which must not delay other calls for long. */
async function cancellingRow(backend: Backend): Promise<Row> {
  await flowsOf(backend).cancel({ flow: flowName, id: 'large' })
  const slices: number[] = []
  for (let more = true; more; ) {
    const startedMs = performance.now()
    more = (await backend.sweep()).more
    slices.push(performance.now() - startedMs)
  }
  const p99 = percentile(slices, 0.99)
  return {
    what: `a slice of maintenance that cancels the flow, of ${count(slices.length)} slices, p99`,
    measured: `${formatMs(p99)} (p50 ${formatMs(median(slices))})`,
    bar: 'under 50 ms',
    isMet: p99 < 50,
  }
}

/** In a separate process, so that only its memory counts. */
async function residentRow(folder: string, { large }: Size): Promise<Row> {
  const child = new BenchChild<FlowsRequest>(new URL('./flows.child.ts', import.meta.url))
  const file = join(folder, 'resident.db')
  const megabytes = await child.ask<number>({ kind: 'resident', file, units: large })
  await child.end()
  return {
    what: `peak resident memory, opening and marking ${count(large)} units`,
    measured: `${Math.round(megabytes)} MB`,
    bar: 'under 250 MB',
    isMet: megabytes < 250,
  }
}

function formatMicros(ms: number): string {
  return `${Math.round(ms * 1_000)} µs`
}

function count(units: number): string {
  return units.toLocaleString('en-US')
}
