/** Tracked jobs, by step and as a whole, compared with the raw limit of the store. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { chosenGroups, type Groups } from '../groups.ts'
import { inScratchFolder } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import type { Report, Row } from '../report.ts'
import { enqueueBulk, openBench } from './app.ts'
import { type EnqueueSize, enqueueRows } from './enqueue.ts'
import { type LifeCycleSize, lifeCycleRows } from './life-cycle.ts'
import { type PickupSize, pickupRows } from './pickup.ts'
import { residentRows } from './resident.ts'
import { type ScheduledSize, scheduledRows } from './scheduled.ts'
import { type StepsSize, stepRows } from './steps.ts'
import { traceRows } from './traces.ts'
import { type WorkerRatesSize, workerRateRows } from './worker-rates.ts'

export async function benchJobs({ isQuick, only }: BenchOptions): Promise<Report> {
  const size = isQuick ? quick : full
  const groups: Groups<string> = {
    cycle: (folder) => lifeCycleRows(folder, size.cycle),
    steps: (folder) => stepRows(folder, size.steps),
    scheduled: (folder) => scheduledRows(folder, size.scheduled),
    enqueue: (folder) => enqueueRows(folder, size.enqueue),
    worker: (folder) => workerRateRows(folder, size.worker),
    traces: (folder) => traceRows(folder, size.worker),
    pickup: (folder) => pickupRows(folder, size.pickup),
    memory: (folder) => residentRows(folder, size.pickup.loadSeconds),
    disk: async (folder) => [await diskRow(folder, size.steps.batch)],
  }
  const rows: Row[] = []
  for (const group of chosenGroups(groups, only)) rows.push(...(await inScratchFolder(group)))
  return {
    title: 'Tracked jobs in the embedded store',
    notes: [
      'Payloads of 200 bytes, validated by a schema; jobs with an owner; durable commits',
      `Rates are medians of ${size.cycle.rounds} rounds for life cycles, ${size.steps.rounds} for single steps, ${size.enqueue.rounds} for enqueueing and ${size.worker.rounds} for workers`,
      'All contenders take turns within a round',
      'Raw: bare node:sqlite statements on a table with one index, 100 a commit unless stated otherwise',
      'Handlers do nothing; workers are those of the library, in this process or another',
      'plainjob: on node:sqlite, with WAL and synchronous = FULL (it sets NORMAL itself)',
      'graphile-worker: on Postgres through a Unix socket, with fsync and synchronous_commit on',
      'graphile-worker: localQueue of 500, grouped completions (completeJobBatchDelay 0), vacuum before each round',
      'Enqueueing with 1 in flight misses its target, for two reasons:',
      'A commit writes four pages (message, index, counters, bookkeeping), a bare insert two: about 20 µs',
      'The schema, the options, the transaction and waking other processes: about 45 µs',
      'Traces: OpenTelemetry SDK with a batch processor, two spans per job, an exporter that does nothing',
      'Worker rates vary by 20 % between runs of the same code: 108 to 154 % of graphile-worker in nine runs',
      'The latest runs are the slower ones, 108 to 114 %; the cause is not known yet',
      'Enqueueing beside scheduled jobs varies too: 87, 90, 95 and 101 % in four runs',
    ],
    rows,
  }
}

interface Size {
  readonly cycle: LifeCycleSize
  readonly steps: StepsSize
  readonly scheduled: ScheduledSize
  readonly enqueue: EnqueueSize
  readonly worker: WorkerRatesSize
  readonly pickup: PickupSize
}

const full: Size = {
  cycle: { rounds: 9, batch: 40_000 },
  steps: { rounds: 9, batch: 20_000, history: 1_000_000 },
  scheduled: { rounds: 9, batch: 20_000, scheduled: 1_000_000, pages: 100 },
  enqueue: { rounds: 45, singles: 250, bulk: 5_000 },
  worker: { rounds: 9, batch: 20_000 },
  pickup: { idle: 1_000, loadSeconds: 20 },
}
const quick: Size = {
  cycle: { rounds: 3, batch: 10_000 },
  steps: { rounds: 2, batch: 10_000, history: 20_000 },
  scheduled: { rounds: 2, batch: 10_000, scheduled: 20_000, pages: 20 },
  enqueue: { rounds: 15, singles: 100, bulk: 5_000 },
  worker: { rounds: 3, batch: 5_000 },
  pickup: { idle: 100, loadSeconds: 3 },
}

async function diskRow(folder: string, count: number): Promise<Row> {
  const data = join(folder, 'disk')
  const mill = await openBench(data)
  await enqueueBulk(mill, count)
  const { storeFile } = mill
  // Closing checkpoints the log into the file.
  await mill.close()
  const bytes = statSync(storeFile ?? '').size / count
  return {
    what: 'disk space of a waiting job of 200 bytes',
    measured: `${Math.round(bytes)} bytes`,
    bar: 'under 600 bytes',
    isMet: bytes < 600,
  }
}
